import { contract, type InputOf, type OutputOf } from '../../libs/common/src/contract/index.js'
import type { HostedBroker } from '../../libs/common/src/contract/internal.operations.js'
import type { HostedJob, JobEnd } from '../../libs/common/src/contract/job.internal.js'
import type { SandboxState } from '../../libs/common/src/contract/sandbox.operations.js'
import { isoTime, systemClock } from '../../libs/common/src/kernel/clock.js'
import { type Context, systemContext } from '../../libs/common/src/kernel/context.js'
import { SvcError } from '../../libs/common/src/kernel/errors.js'
import { version } from '../../libs/common/src/kernel/version.js'
import { joinBus, type PeerOptions, type TestPeer } from '../../libs/common/src/testing/bus.js'

export type Launch = InputOf<(typeof contract)['host.broker.launch']>
type HelloAnswer = OutputOf<(typeof contract)['lifecycle.host.hello']>
export type Stop = InputOf<(typeof contract)['host.broker.stop']>
export type JobOrder = InputOf<(typeof contract)['host.job.start']>

const startJob = contract['host.job.start']
const cancelJob = contract['host.job.cancel']
const jobOutput = contract['host.job.output']

/** A host that the test plays at the wire: it notes what it is asked and hosts brokers that are nothing but entries. */
export class PlayedHost {
  /** What it was asked to launch. Whoever waits long for the answer asks again: of what it hosts already, that is not kept. */
  readonly launches: Launch[] = []
  readonly stops: Stop[] = []
  /** What it says that it hosts; by node. */
  readonly brokers = new Map<string, HostedBroker>()
  /** Jobs that it says it has; by id. */
  readonly jobs = new Map<string, HostedJob>()
  readonly jobOrders: JobOrder[] = []
  readonly jobCancels: string[] = []
  /** Answers orders for jobs when given; the entry is there after it. */
  onJob: (what: 'start' | 'cancel', jobId: string) => Promise<void> | void = () => undefined
  /** What it serves besides; set before it joins. */
  more: Pick<PeerOptions, 'operations' | 'handlers'> = {}
  /** Carries out stops when given; the entry is gone after it. */
  onStop: (stop: Stop) => Promise<void> | void = () => undefined
  incarnation = 'first'
  sandbox: SandboxState = { level: 'bubblewrap', detail: 'played' }
  /** Whether it says nothing by itself. */
  silent = false
  /** Answers launches when given; the entry is hosted after it. */
  onLaunch: (launch: Launch) => Promise<void> | void = () => undefined
  #peer: TestPeer | undefined
  #pid = 1000
  #callOff: () => void = () => undefined
  /** Why a hello of its own was not heard. */
  lastRefusal: unknown

  constructor(
    readonly hostId: string,
    private readonly nats: string,
  ) {}

  get peer(): TestPeer {
    if (!this.#peer) throw new Error('the host has not joined')
    return this.#peer
  }

  async join(): Promise<void> {
    const launch = contract['host.broker.launch']
    const stop = contract['host.broker.stop']
    this.#peer = await joinBus(this.nats, 'host', {
      hostId: this.hostId,
      operations: [launch, stop, startJob, cancelJob, jobOutput, ...(this.more.operations ?? [])],
      handlers: {
        [launch.name]: async (_ctx: Context, input: unknown) => this.#launch(input as Launch),
        [stop.name]: async (_ctx: Context, input: unknown) => {
          const asked = input as Stop
          this.stops.push(asked)
          await this.onStop(asked)
          const present = this.brokers.get(asked.node_id)
          if (!present || present.generation > asked.generation) return { stopped: false }
          return { stopped: this.brokers.delete(asked.node_id) }
        },
        [startJob.name]: async (_ctx: Context, input: unknown) => this.#startJob(input as JobOrder),
        [cancelJob.name]: async (_ctx: Context, input: unknown) => {
          const { job_id: id } = input as { job_id: string }
          this.jobCancels.push(id)
          await this.onJob('cancel', id)
          return { state: 'ending' }
        },
        [jobOutput.name]: async (_ctx: Context, input: unknown) => {
          const { job_id: id } = input as { job_id: string }
          if (!this.jobs.has(id)) throw new SvcError('not_found')
          return { content: 'so far', offset: 0, next_offset: 6, size: 6, truncated: false, omitted: null }
        },
        ...this.more.handlers,
      },
    })
    await this.hello()
    this.#beat()
  }

  async hello(more: Partial<InputOf<(typeof contract)['lifecycle.host.hello']>> = {}): Promise<HelloAnswer> {
    const brokers = [...this.brokers.values()]
    return this.peer.bus.call(contract['lifecycle.host.hello'], systemContext('host'), {
      host_id: this.hostId,
      incarnation: this.incarnation,
      version,
      brokers,
      jobs: [...this.jobs.values()],
      sandbox: this.sandbox,
      live: brokers.length,
      warm: 1,
      cap: 64,
      ...more,
    })
  }

  /** The process of a node is gone, as the host says it. */
  async lose(nodeId: string, generation: number, more: { signal?: string; clean?: boolean } = {}): Promise<void> {
    this.brokers.delete(nodeId)
    const exit = {
      node_id: nodeId,
      generation,
      pid: 1,
      exit_code: more.signal ? null : 1,
      signal: more.signal ?? null,
      clean: more.clean ?? false,
      detail: 'last words',
    }
    await this.peer.bus.call(contract['lifecycle.host.exited'], systemContext('host'), { host_id: this.hostId, exit })
  }

  /** The job has ended, as the host says it. */
  async endJob(job: { id: string; node_id: string }, more: Partial<JobEnd> = {}): Promise<void> {
    const end: JobEnd = {
      job_id: job.id,
      node_id: job.node_id,
      status: 'exited',
      exit_code: 0,
      signal: null,
      ended_at: isoTime(systemClock.now()),
      output_bytes: 6,
      truncated: false,
      error: null,
      tail: 'so far',
      ...more,
    }
    await this.peer.bus.call(contract['lifecycle.host.jobEnded'], systemContext('host'), { host_id: this.hostId, end })
    this.jobs.delete(job.id)
  }

  launchesOf(nodeId: string): Launch[] {
    return this.launches.filter((launch) => launch.node_id === nodeId)
  }

  async close(): Promise<void> {
    this.#callOff()
    await this.#peer?.close()
  }

  /** As a host does; the writer may be away. */
  #beat(): void {
    this.#callOff = systemClock.after(500, () => {
      if (!this.silent) this.hello().catch((error: unknown) => (this.lastRefusal = error))
      this.#beat()
    })
  }

  async #startJob(order: JobOrder) {
    this.jobOrders.push(order)
    await this.onJob('start', order.job_id)
    if (order.incarnation !== this.incarnation) throw new SvcError('stale_generation')
    if (this.jobs.has(order.job_id)) return { state: 'running' }
    this.jobs.set(order.job_id, { job_id: order.job_id, running: true, scopes: madeWith(order.scopes) })
    return { state: 'started' }
  }

  async #launch(launch: Launch) {
    const hosted = () => this.brokers.get(launch.node_id)?.generation === launch.generation
    if (!hosted()) this.launches.push(launch)
    await this.onLaunch(launch)
    const known = this.brokers.get(launch.node_id)
    if (known && hosted()) return { state: 'already_hosted', pid: known.pid }
    this.#pid += 1
    const { node_id, generation, scopes } = launch
    const started_at = isoTime(systemClock.now())
    this.brokers.set(node_id, { node_id, generation, pid: this.#pid, started_at, scopes: madeWith(scopes) })
    return { state: 'launched', pid: this.#pid }
  }
}

const madeWith = (scopes: readonly string[]): string[] =>
  scopes.filter((scope) => scope === 'svc:act' || scope.startsWith('svc:files:'))
