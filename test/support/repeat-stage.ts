import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TestRepository } from '../../apps/host/src/worktree/repository.fixture.js'
import type { NodeCreate, NodeStatus } from '../../libs/common/src/contract/index.js'
import { deriveNodeToken } from '../../libs/common/src/kernel/tokens.js'
import { MockModel } from '../../libs/common/src/testing/mock-model.js'
import { waitFor } from '../../libs/common/src/testing/wait-for.js'
import { TestDaemon } from './daemon.js'

interface Row {
  readonly status: NodeStatus
  readonly broker_state: string
  readonly fault: unknown
}

/** A whole daemon with a model, and nodes of it in whatever state an operation needs. */
export class RepeatStage {
  readonly #repositories: TestRepository[] = []

  private constructor(
    readonly daemon: TestDaemon,
    readonly mock: MockModel,
  ) {}

  static async start(): Promise<RepeatStage> {
    const [daemon, mock] = await Promise.all([TestDaemon.start(), MockModel.start()])
    mock.conversation({ prompt: 'be refused' }, [{ error: { status: 401, message: 'no such key' } }])
    mock.always({ text: 'so be it', usage: { input: 2, output: 3 } })
    await daemon.useModel(mock)
    return new RepeatStage(daemon, mock)
  }

  async stop(): Promise<void> {
    await this.daemon.stop()
    await this.mock.stop()
    for (const repository of this.#repositories) repository.remove()
  }

  /** A file of its own for a command to write to. */
  path(name: string): string {
    mkdirSync(this.daemon.workDir, { recursive: true })
    return join(this.daemon.workDir, name)
  }

  /** A program that works until it is ended. */
  async program(more: Partial<NodeCreate> = {}): Promise<string> {
    const { id } = await this.daemon.client().nodes.create({
      prompt: 'go',
      engine: 'exec',
      exec: { argv: ['sleep', '600'] },
      cwd: this.daemon.workDir,
      ...more,
    })
    return this.#once(id, ({ broker_state }) => broker_state === 'bound')
  }

  /** An agent that has said its word and rests. */
  async agent(more: Partial<NodeCreate> = {}): Promise<string> {
    const { nodes } = this.daemon.client()
    const { id } = await nodes.create({ prompt: 'go', lifecycle: 'resident', cwd: this.daemon.workDir, ...more })
    return this.#once(id, ({ status }) => status === 'idle')
  }

  /** One that is held, since its provider refuses the credential. */
  async held(): Promise<string> {
    const { nodes } = this.daemon.client()
    const { id } = await nodes.create({ prompt: 'be refused', cwd: this.daemon.workDir })
    return this.#once(id, ({ fault, broker_state }) => fault !== null && broker_state === 'launching')
  }

  /** One that died with its work unfinished. */
  async dead(): Promise<string> {
    const { nodes } = this.daemon.client()
    const cwd = this.daemon.workDir
    const { id } = await nodes.create({ prompt: 'go', engine: 'exec', exec: { argv: ['false'] }, cwd })
    return this.#once(id, ({ status }) => status === 'dead')
  }

  async ended(): Promise<string> {
    const { nodes } = this.daemon.client()
    const { id } = await nodes.create({ prompt: 'go', lifecycle: 'terminal', cwd: this.daemon.workDir })
    await nodes.waitForOutcome(id)
    return id
  }

  /** One that rests in a worktree of a repository of its own. */
  inWorktree(): Promise<string> {
    const repository = new TestRepository(`repeated ${this.#repositories.length}`)
    this.#repositories.push(repository)
    return this.agent({ cwd: repository.root, worktree: {} })
  }

  async question(): Promise<string> {
    const node_id = await this.agent()
    const { id } = await this.daemon.client().human.requests.create({ ...deck, node_id } as never)
    return id
  }

  /** A schedule of the owner's that has done nothing yet. */
  async cron(paused = false): Promise<string> {
    const action = { type: 'bash', cwd: this.daemon.workDir, command: 'true' }
    const client = this.daemon.client()
    const { id } = await client.request<{ id: string }>('POST', '/v1/crons', { schedule: { every: 3600 }, action })
    if (paused) await client.request('POST', `/v1/crons/${id}/pause`)
    return id
  }

  /** An object of the owner's that declares `built`. */
  async object(name: string): Promise<string> {
    const body = { name, catalog: [{ event: 'built' }] }
    return (await this.daemon.client().request<{ id: string }>('POST', '/v1/custom-objects', body)).id
  }

  /** An app that may call models. */
  async app(name: string): Promise<string> {
    const body = { name, scopes: ['svc:llm'] }
    return (await this.daemon.client().request<{ id: string }>('POST', '/v1/apps', body)).id
  }

  tokensOf(app: string): Promise<unknown[]> {
    return this.daemon.rows('SELECT 1 FROM gateway.tokens WHERE app_id = $1', [app])
  }

  /** The token of a node's process. */
  async tokenOf(id: string): Promise<string> {
    const key = Buffer.from(readFileSync(join(this.daemon.data.path, 'keys/node-token.key'), 'utf8'), 'base64')
    const [row] = await this.daemon.rows<{ generation: number }>('SELECT generation FROM canvas.nodes WHERE id = $1', [
      id,
    ])
    return deriveNodeToken(key, id, row?.generation ?? 0)
  }

  async #once(id: string, is: (row: Row) => boolean): Promise<string> {
    await waitFor(
      async () => {
        const rows = await this.daemon.rows<Row>('SELECT status, broker_state, fault FROM canvas.nodes WHERE id = $1', [
          id,
        ])
        return rows.some(is)
      },
      { what: `the node ${id}` },
    )
    return id
  }
}

export const page = { id: 'way', kind: 'decision', title: 'Which way?', options: [{ id: 'a', label: 'Left' }] }
export const deck = { kind: 'deck', title: 'A way', pages: [page] }
