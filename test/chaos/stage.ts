import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MockAnswer, MockConversation, MockModel } from '#common/testing/mock-model.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Client, Node, NodeCreate, SvcError } from '#sdk/index.js'
import type { TestDaemon } from '../support/daemon.js'
import { EventWatch } from '../support/event-watch.js'
import type { Random } from './random.js'
import { StreamWatch } from './stream-watch.js'

/** Longer than any outage that the harness makes, on a machine that is busy. */
export const patience = { timeout: 150_000, maxRetries: 400 }

/** ms that a story waits for something of its nodes. */
export const storyPatience = { timeout: 120_000, interval: 50 }

/** What an agent answers to a conversation; the same to the same one. */
export type Decide = (conversation: MockConversation) => MockAnswer

export interface Message {
  readonly id: string
  readonly body: string
}

/** What the clients of a round were promised, and what they saw. */
export class Ledger {
  readonly messages: Message[] = []
  readonly nodes: { readonly id: string; readonly watch: EventWatch }[] = []
  readonly trees: { readonly root: string; readonly watch: StreamWatch }[] = []

  async stop(): Promise<void> {
    await Promise.all([...this.nodes, ...this.trees].map(({ watch }) => watch.stop()))
  }
}

export interface StageOptions {
  readonly daemon: TestDaemon
  /** Where clients reach it: their connections are cut there. */
  readonly baseUrl: string
  readonly mock: MockModel
  readonly random: Random
  /** Its own of all stories of all rounds. */
  readonly tag: string
  readonly directory: string
  readonly ledger: Ledger
}

const named = /<([\w-]+)>/g

/** What a story acts with: impatient clients that repeat whatever they ask, and agents that do as they are told. */
export class Stage {
  readonly client: Client
  readonly tag: string
  readonly random: Random
  #keys = 0

  constructor(private readonly options: StageOptions) {
    this.tag = options.tag
    this.random = options.random
    this.client = options.daemon.client({ ...patience, baseUrl: options.baseUrl })
  }

  /** A file that programs write to. */
  path(name: string): string {
    return join(this.options.directory, `${this.tag}-${name}`)
  }

  /** Lets programs go on that wait for a file. */
  open(name: string): void {
    writeFileSync(this.path(name), '')
  }

  rows<T>(sql: string, values?: unknown[]): Promise<T[]> {
    return this.options.daemon.rows<T>(sql, values)
  }

  /** Ends the process that hosts a node now, if any. */
  async killBroker(id: string): Promise<void> {
    const { processes } = this.options.daemon
    const [row] = await this.rows<{ pid: number | null }>('SELECT broker_pid AS pid FROM canvas.nodes WHERE id = $1', [
      id,
    ])
    const broker = processes.brokers().find(({ pid }) => pid === row?.pid)
    if (broker) processes.kill(broker)
  }

  /**
   * What an agent does whose newest `<name>` among what it was told is this one; the name of the story comes before it.
   * Answers the name with its brackets, to be put into a prompt.
   */
  agent(name: string, decide: Decide): string {
    const own = `${this.tag}-${name}`
    this.options.mock.deciding((conversation) => {
      const last = [...conversation.user.join('\n').matchAll(named)].at(-1)?.[1]
      return last === own ? decide(conversation) : undefined
    })
    return `<${own}>`
  }

  /** Made once, by a client that asks twice; watched from its first event. */
  async create(name: string, body: Omit<NodeCreate, 'name'>): Promise<Node> {
    const { ledger, baseUrl, daemon, directory } = this.options
    const node = await this.twice<Node>('POST', '/v1/nodes', {
      name: `${this.tag}-${name}`,
      ...(body.parent_id === undefined && { cwd: directory }),
      ...body,
    })
    const { token } = daemon
    ledger.nodes.push({ id: node.id, watch: new EventWatch({ baseUrl, token, node: node.id }) })
    if (node.parent_id === null) {
      const path = `/v1/nodes/${node.id}/stream?tree=true`
      ledger.trees.push({ root: node.id, watch: new StreamWatch({ baseUrl, token, path, after: '0' }) })
    }
    return node
  }

  /** As a client asks that didn't hear the first answer. @throws Error when the answers differ */
  async twice<T>(method: 'POST', path: string, body: unknown): Promise<T> {
    this.#keys += 1
    const headers = { 'idempotency-key': `${this.tag}.${this.#keys}` }
    const ask = () => this.client.request<T>(method, path, body, { headers })
    const [first, second] = await Promise.all([ask(), ask()])
    if (JSON.stringify(first) === JSON.stringify(second)) return first
    throw new Error(`${path}: one key, two answers: ${JSON.stringify([first, second])}`)
  }

  async message(id: string, body: string, more: Record<string, unknown> = {}): Promise<void> {
    const text = `${body} (${this.tag}.${this.#keys})`
    const receipt = await this.twice<{ message_id: string }>('POST', `/v1/nodes/${id}/message`, { body: text, ...more })
    this.options.ledger.messages.push({ id: receipt.message_id, body: text })
  }

  async watch(subscriber: string, publisher: string, mode: 'active' | 'passive' = 'active'): Promise<void> {
    await this.client.request('PUT', '/v1/canvas/subscriptions', { subscriber, publisher, mode })
  }

  /** Asked in pieces, from outside. */
  async reaches(id: string, status: Node['status'][]): Promise<Node> {
    return waitFor(async () => {
      const { node, reached } = await this.client.nodes.wait(id, { status, timeout: 20 })
      return reached && node
    }, storyPatience)
  }

  async below(id: string, count: number): Promise<Map<string, string>> {
    return waitFor(async () => {
      const { data } = await this.client.nodes.list({ under: id })
      const found = data.filter((node) => node.id !== id)
      return found.length >= count && new Map(found.map((node) => [node.name.replace(`${this.tag}-`, ''), node.id]))
    }, storyPatience)
  }
}

export const call = (name: string, input: Record<string, unknown>): MockAnswer => ({ toolCalls: [{ name, input }] })
export const calls = (...all: [string, Record<string, unknown>][]): MockAnswer => ({
  toolCalls: all.map(([name, input]) => ({ name, input })),
})
export const report = (body: string): MockAnswer => call('report', { kind: 'final', body })
export const heard = ({ user }: MockConversation, text: string): boolean => user.some((one) => one.includes(text))

/** The error that a client was answered. */
export const failureOf = async (asked: Promise<unknown>): Promise<SvcError | undefined> => {
  try {
    await asked
    return undefined
  } catch (error) {
    return error as SvcError
  }
}

/** The sentence when it isn't so. */
export const must = (holds: boolean, sentence: string): string[] => (holds ? [] : [sentence])

/** What a story did; says, when everything has come to rest, what should be otherwise. */
export type Check = () => Promise<string[]>
export type Story = (stage: Stage) => Promise<Check>
