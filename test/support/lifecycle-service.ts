import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { service as definition } from '../../apps/lifecycle/src/lifecycle.module.js'
import {
  type Assignment,
  type BrokerSignal,
  contract,
  type InputOf,
  type JournalEntry,
  type Node,
  type NodeCreate,
  type OutputOf,
} from '../../libs/common/src/contract/index.js'
import type { HostedBroker } from '../../libs/common/src/contract/internal.operations.js'
import { type Settings, settings } from '../../libs/common/src/kernel/config.js'
import { type Actor, type Context, systemContext } from '../../libs/common/src/kernel/context.js'
import type { LoggedEvent } from '../../libs/common/src/kernel/database/events.js'
import { loadNodeTokenKey } from '../../libs/common/src/kernel/node-token-key.js'
import { type RunningService, startService } from '../../libs/common/src/kernel/service.js'
import { subjects } from '../../libs/common/src/kernel/subjects.js'
import { verifyNodeToken } from '../../libs/common/src/kernel/tokens.js'
import { version } from '../../libs/common/src/kernel/version.js'
import { joinBus, type TestPeer } from '../../libs/common/src/testing/bus.js'
import { type TestDatabase, testDatabase } from '../../libs/common/src/testing/database.js'
import { logInto } from '../../libs/common/src/testing/log-into.js'
import { natsUrlAs, testNats } from '../../libs/common/src/testing/nats.js'
import { waitFor } from '../../libs/common/src/testing/wait-for.js'
import { type Launch, PlayedHost } from './played-host.js'

type Readiness = OutputOf<(typeof contract)['models.ready']>
type Operations = typeof contract
type Name = keyof Operations & string

export const ready: Readiness = {
  ready: true,
  providers: [
    { provider: 'mock', type: 'openai-compatible', configured: true, usable: true, reason: null, checked_at: null },
  ],
  strengths: [
    { strength: 'light', model: 'mock/m', reason: null },
    { strength: 'medium', model: 'mock/m', reason: null },
    { strength: 'strong', model: null, reason: 'No model serves this strength.' },
  ],
  remedy: null,
}

/** A node's broker that the test plays. */
export class PlayedBroker {
  #next = 1

  constructor(
    private readonly lifecycle: LifecycleUnderTest,
    readonly nodeId: string,
    readonly generation: number,
    private readonly process: HostedBroker,
  ) {}

  get ctx(): Context {
    return nodeContext(this.nodeId, this.generation)
  }

  async bind(more: Partial<InputOf<(typeof contract)['nodes.broker.bind']>> = {}): Promise<Assignment> {
    const { pid, started_at } = this.process
    const host_id = this.lifecycle.host.hostId
    const assignment = await this.call('nodes.broker.bind', { host_id, pid, started_at, version, ...more })
    this.#next = assignment.next_ord
    return assignment
  }

  claim(steering = false): Promise<OutputOf<Operations['nodes.mail.claim']>> {
    return this.call('nodes.mail.claim', { limit: 100, steering })
  }

  /** Appends at the position that it believes to be the next. */
  async append(...entries: JournalEntry[]): Promise<OutputOf<Operations['nodes.broker.journal']>> {
    const answer = await this.appendAt(this.#next, ...entries)
    this.#next = answer.next_ord
    return answer
  }

  appendAt(from: number, ...entries: JournalEntry[]): Promise<OutputOf<Operations['nodes.broker.journal']>> {
    return this.call('nodes.broker.journal', { from, entries })
  }

  /** A turn that takes these mails in and ends. */
  async turn(
    number: number,
    mail: readonly { id: string }[],
    end: Partial<Extract<JournalEntry, { type: 'turn_ended' }>> = {},
  ): Promise<OutputOf<Operations['nodes.broker.journal']>> {
    return this.append(started(number, mail), { type: 'turn_ended', turn: number, status: 'completed', ...end })
  }

  signals(signal?: AbortSignal): AsyncIterable<BrokerSignal> {
    const ctx = { ...this.ctx, ...(signal && { signal }) }
    return this.lifecycle.gateway.bus.stream(contract['nodes.broker.signals'], ctx, { id: this.nodeId })
  }

  push(kind: 'update' | 'urgent' | 'final', body: string): Promise<OutputOf<Operations['nodes.reports.push']>> {
    return this.call('nodes.reports.push', { kind, body })
  }

  call<N extends Name>(name: N, input: Record<string, unknown>): Promise<OutputOf<Operations[N]>> {
    return this.lifecycle.call(name, { id: this.nodeId, ...input }, this.ctx)
  }
}

export const started = (turn: number, mail: readonly { id: string }[] = []): JournalEntry => ({
  type: 'turn_started',
  turn,
  mail: mail.map(({ id }) => id),
  content: [{ type: 'text', text: 'go' }],
})

export const said = (turn: number, step: number, text = 'hello'): JournalEntry => ({
  type: 'message',
  turn,
  step,
  role: 'assistant',
  content: [{ type: 'text', text }],
})

export const ownerContext = (more: Partial<Context> = {}): Context => ({
  ...systemContext('gateway'),
  actor: { kind: 'owner', principal: 'owner', tokenId: 'tok_1', scopes: ['*'] },
  ...more,
})

/** As the gateway makes it of a node's token. */
export const nodeContext = (nodeId: string, generation = 1, more: Partial<Actor> = {}): Context => ({
  ...systemContext('gateway'),
  actor: {
    kind: 'node',
    principal: `node:${nodeId}`,
    tokenId: null,
    scopes: ['svc:act', 'svc:llm', 'svc:memory:rw:user', 'svc:schedule'],
    nodeId,
    generation,
    ...more,
  },
})

export interface LifecycleOptions {
  readonly settings?: Partial<Record<keyof Settings, unknown>>
  /** Whether a host is there from the start; yes unless given. */
  readonly hosted?: boolean
}

/** The writer over a database of its own, with gateway, host and models played by the test. */
export class LifecycleUnderTest {
  readonly logged: string[] = []
  readonly events: LoggedEvent[] = []
  readonly models: { readiness: Readiness; asked: number } = { readiness: ready, asked: 0 }
  readonly #running = new Set<RunningService>()
  readonly #peers: TestPeer[] = []

  private constructor(
    readonly database: TestDatabase,
    readonly dataDir: string,
    readonly nats: string,
    readonly gateway: TestPeer,
    readonly host: PlayedHost,
    private readonly options: LifecycleOptions,
  ) {}

  static async start(options: LifecycleOptions = {}): Promise<LifecycleUnderTest> {
    const nats = testNats().url
    const [database, dataDir, gateway] = await Promise.all([
      testDatabase(),
      mkdtemp(join(tmpdir(), 'svc-lifecycle-')),
      joinBus(nats, 'gateway'),
    ])
    // The bus is shared by the suites of a worker: a host of an older one must not be taken for ours.
    const host = new PlayedHost(`host-${randomBytes(4).toString('hex')}`, nats)
    const lifecycle = new LifecycleUnderTest(database, dataDir, nats, gateway, host, options)
    gateway.bus.subscribe<LoggedEvent>(subjects.nodeEvents(), ({ payload }) => lifecycle.events.push(payload))
    await gateway.bus.settled()
    try {
      await lifecycle.another()
      if (options.hosted ?? true) await host.join()
      return lifecycle
    } catch (error) {
      await lifecycle.stop()
      throw error
    }
  }

  /** Another process of the service on the same database: leads when nobody else does. */
  async another(more: Partial<Record<keyof Settings, unknown>> = {}): Promise<RunningService> {
    const parsed = settings.parse({
      SVC_DATA_DIR: this.dataDir,
      DATABASE_URL: this.database.urlFor('lifecycle'),
      NATS_URL: natsUrlAs(this.nats, 'lifecycle'),
      SVC_RECONCILE_MS: 100,
      SVC_LEASE_HOLDER: 'one',
      ...this.options.settings,
      ...more,
    })
    const log = logInto((line) => this.logged.push(line))
    const running = await startService(definition, { name: 'lifecycle', settings: parsed, log })
    this.#running.add(running)
    return running
  }

  get service(): RunningService {
    const [first] = this.#running
    if (!first) throw new Error('no service runs')
    return first
  }

  async stopService(running = this.service): Promise<void> {
    this.#running.delete(running)
    await running.close()
  }

  /** A models service that answers with `models.readiness` until it is closed, or all of this is stopped. */
  async joinModels(): Promise<TestPeer> {
    const operation = contract['models.ready']
    const peer = await joinBus(this.nats, 'models', {
      operations: [operation],
      handlers: {
        [operation.name]: async () => {
          this.models.asked += 1
          return this.models.readiness
        },
      },
    })
    this.#peers.push(peer)
    return peer
  }

  call<N extends Name>(
    name: N,
    input: Record<string, unknown>,
    ctx: Context = ownerContext(),
  ): Promise<OutputOf<Operations[N]>> {
    return this.gateway.bus.call(contract[name], ctx, input as never) as Promise<OutputOf<Operations[N]>>
  }

  /** A node of the engine exec, a root in /tmp unless given. */
  create(more: Partial<NodeCreate> = {}, ctx?: Context): Promise<Node> {
    return this.call(
      'nodes.create',
      {
        prompt: 'do it',
        engine: 'exec',
        exec: { argv: ['true'], stdin: 'jsonl' },
        ...(more.parent_id === undefined && { cwd: '/tmp' }),
        ...more,
      },
      ctx,
    )
  }

  retrieve(id: string): Promise<Node> {
    return this.call('nodes.retrieve', { id })
  }

  message(id: string, body: string, tier: 'critical' | 'urgent' | 'normal' | 'deferred' = 'normal', ctx?: Context) {
    return this.call('nodes.message', { id, body, tier }, ctx)
  }

  outcome(id: string, wait?: number, ctx?: Context) {
    return this.call('nodes.outcome', { id, ...(wait !== undefined && { wait }) }, ctx)
  }

  /** The broker that the host was asked to launch for this generation, the newest unless given, not bound yet. */
  async broker(nodeId: string, generation?: number): Promise<PlayedBroker> {
    const process = await waitFor(
      () => {
        const hosted = this.host.brokers.get(nodeId)
        return hosted && (generation === undefined || hosted.generation === generation) ? hosted : null
      },
      { what: `the launch of ${nodeId}${generation === undefined ? '' : `, generation ${generation}`}` },
    )
    return new PlayedBroker(this, nodeId, process.generation, process)
  }

  async bound(nodeId: string, generation?: number): Promise<{ broker: PlayedBroker; assignment: Assignment }> {
    const broker = await this.broker(nodeId, generation)
    return { broker, assignment: await broker.bind() }
  }

  /** A node whose broker is bound. */
  async running(more: Partial<NodeCreate> = {}, ctx?: Context) {
    const node = await this.create(more, ctx)
    return { node, ...(await this.bound(node.id)) }
  }

  until(id: string, status: Node['status']): Promise<Node> {
    return waitFor(
      async () => {
        const node = await this.retrieve(id)
        return node.status === status ? node : null
      },
      { what: `${id} to be ${status}` },
    )
  }

  /** Every recorded event of a node, from the rows. */
  async recorded(id: string, tree = false): Promise<(LoggedEvent & { data: Record<string, unknown> })[]> {
    const all: LoggedEvent[] = []
    for (let after = 0; ; ) {
      const page = await this.call('lifecycle.node.readEvents', { id, tree, after, limit: 500 })
      all.push(...(page.events as LoggedEvent[]))
      const last = page.events.at(-1)
      if (!last || (tree ? last.tree_seq : last.seq) >= page.head) return all
      after = tree ? last.tree_seq : last.seq
    }
  }

  async typesOf(id: string): Promise<string[]> {
    return (await this.recorded(id)).map(({ type }) => type)
  }

  tokenOf(launch: Launch): { nodeId: string; generation: number } | null {
    const parsed = settings.parse({ SVC_DATA_DIR: this.dataDir })
    return verifyNodeToken(loadNodeTokenKey(parsed), launch.token)
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running].map((running) => running.close()))
    await Promise.all([this.gateway, this.host, ...this.#peers].map((peer) => peer.close()))
    await this.database.drop()
    await rm(this.dataDir, { recursive: true })
  }
}
