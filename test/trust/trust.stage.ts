import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { loadSettings } from '#common/kernel/config.js'
import { loadNodeTokenKey } from '#common/kernel/node-token-key.js'
import { deriveNodeToken } from '#common/kernel/tokens.js'
import { type MockAnswer, MockModel } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client, Node, NodeCreate } from '#sdk/index.js'
import { TestDaemon } from '../support/daemon.js'

export interface Said {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any answer
  readonly body: any
}

/** Whoever holds a token: asks by `POST /v1/nodes` as one word. */
export type Voice = (call: string, body?: unknown) => Promise<Said>

const patience = { timeout: 60_000 }

/** A running daemon with a model, and everybody who may speak to it. */
export class TrustStage {
  readonly client: Client
  readonly owner: Voice
  #made = 0

  private constructor(
    readonly daemon: TestDaemon,
    readonly mock: MockModel,
  ) {
    this.client = daemon.client({ timeout: 90_000 })
    this.owner = this.voice(daemon.token)
  }

  static async start(): Promise<TrustStage> {
    const [daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
    await daemon.useModel(mock)
    return new TrustStage(daemon, mock)
  }

  async stop(): Promise<void> {
    await Promise.all([this.daemon.stop(), this.mock.stop()])
  }

  /** A new directory that nothing else works in. */
  directory(): string {
    this.#made += 1
    const path = join(this.daemon.workDir, `place-${this.#made}`)
    mkdirSync(path)
    return path
  }

  voice(token: string | null, base = this.daemon.baseUrl): Voice {
    return async (call, body) => {
      const [method, path] = call.split(' ') as [string, string]
      const response = await fetch(base + path, {
        method,
        headers: {
          accept: 'application/json',
          ...(token !== null && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
    }
  }

  /** What a node's own token may do. */
  async asNode(id: string): Promise<Voice> {
    const { generation } = await this.client.nodes.retrieve(id)
    const key = loadNodeTokenKey(loadSettings(this.daemon.env))
    return this.voice(deriveNodeToken(key, id, generation))
  }

  /** A registered app with this grant. */
  async app(scopes: readonly string[]): Promise<string> {
    this.#made += 1
    const { status, body } = await this.owner('POST /v1/apps', { name: `app${this.#made}`, scopes })
    if (status !== 201) throw new Error(`no app: ${JSON.stringify(body)}`)
    return body.id
  }

  /** What a token of the app may do; it follows the grant unless it has a list. */
  async asApp(app: string, scopes?: readonly string[]): Promise<Voice> {
    const { status, body } = await this.owner('POST /v1/tokens', { app, ...(scopes && { scopes }) })
    if (status !== 201) throw new Error(`no token: ${JSON.stringify(body)}`)
    return this.voice(body.token)
  }

  /** A resident program that waits; in a directory of its own. */
  waiting(body: Partial<NodeCreate> = {}): Promise<Node> {
    const exec = { engine: 'exec' as const, exec: { argv: ['cat'] } }
    return this.client.nodes.create({ prompt: 'wait', cwd: this.directory(), ...exec, ...body })
  }

  /** An agent at rest that has said something. */
  async rested(body: Partial<NodeCreate> = {}): Promise<Node> {
    const { id } = await this.client.nodes.create({ prompt: 'say something', cwd: this.directory(), ...body })
    return waitFor(
      async () => {
        const node = await this.client.nodes.retrieve(id)
        return node.status === 'idle' && node
      },
      { ...patience, what: `${id} to rest` },
    )
  }

  /** An agent that has ended, with what it was given to do. */
  async over(body: Partial<NodeCreate> = {}): Promise<Node> {
    const { node_id } = await this.client.nodes.createAndWait({
      prompt: 'report and end',
      cwd: this.directory(),
      lifecycle: 'terminal',
      ...body,
    })
    return this.client.nodes.retrieve(node_id)
  }

  /** What the model answers to a node with this prompt, call by call. */
  script(prompt: string, answers: readonly MockAnswer[]): void {
    this.mock.deciding(({ user, said }) => (user[0]?.includes(prompt) ? answers[said] : undefined))
  }
}
