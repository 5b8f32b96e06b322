import { Inject, Injectable } from '@nestjs/common'
import type { BrokerExit, HostedBroker } from '#common/contract/internal.operations.js'
import type { Clock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import type { SandboxPlan } from '#machine/sandbox/sandbox.plan.js'
import { HOST_PLACE, type HostPlace } from '../host.place.js'
import { type Maker, SandboxPlanner } from '../sandbox/sandbox.planner.js'
import { ViewerSockets } from '../viewer/viewer.sockets.js'
import { BrokerFactory } from './broker.factory.js'
import type { Released } from './broker.messages.js'
import { BrokerPool } from './broker-pool.js'
import type { BrokerExitStatus, BrokerProcess } from './broker-process.js'
import { equippedWith, GenerationFence, type HostedNode, hostedBrokerOf } from './hosted-node.js'

export interface Launch {
  readonly node_id: string
  readonly generation: number
  readonly token: string
  readonly base_url: string
  readonly pool_key: string
  readonly cwd: string
  readonly scopes: readonly string[]
  readonly git_dir?: string | null
  readonly consent?: boolean
  readonly makers?: readonly Maker[]
}

/** Grace of a tree whose broker is gone already, or whose node has a successor waiting (ms). */
const shortGrace = 500
/** Grace of every tree when the host itself is told to end (ms). */
const shutdownGrace = 2000

/**
 * Which broker hosts which node on this machine. Never two for one node: what an older generation left is ended and
 * confirmed gone before a newer one starts, and an older generation never starts after a newer one.
 */
@Injectable()
export class BrokerService {
  /** Called for each node whose tree is gone, unless its broker released it and lives on. */
  onExit: (exit: BrokerExit) => void = () => undefined
  /** Called with the number of hosted nodes whenever it changes. */
  onCount: (count: number) => void = () => undefined
  readonly #hosted = new Map<string, HostedNode>()
  readonly #byProcess = new Map<BrokerProcess, HostedNode>()
  readonly #fence = new GenerationFence()
  readonly #queues = new Map<string, Promise<unknown>>()
  readonly #pool: BrokerPool
  readonly #sockets: ViewerSockets
  #closing = false

  constructor(
    @Inject(HOST_PLACE) private readonly place: HostPlace,
    @Inject(BrokerFactory) private readonly factory: BrokerFactory,
    @Inject(SandboxPlanner) private readonly planner: SandboxPlanner,
    @Inject(LOG) private readonly log: Logger,
  ) {
    this.#sockets = new ViewerSockets(place)
    this.#pool = new BrokerPool(
      place.pool,
      this.clock,
      () => this.#start(),
      (process) => void this.#discard(process),
    )
  }

  get live(): number {
    return this.#hosted.size
  }

  get warm(): number {
    return this.#pool.size
  }

  hosted(): HostedBroker[] {
    return [...this.#hosted.values()].map(hostedBrokerOf)
  }

  /** Starts the processes that wait for work; what viewers were reached by before is gone. */
  warmUp(): void {
    this.#sockets.clear()
    this.#pool.fill()
  }

  /**
   * @throws SvcError `stale_generation` when a newer generation was hosted or ended here; `quota_exceeded` at the cap, or
   * when the machine gives no more processes; `service_unavailable` while the host is ending; what the planner throws.
   */
  launch(launch: Launch): Promise<{ state: 'launched' | 'already_hosted'; pid: number }> {
    return this.#inTurn(launch.node_id, async () => {
      const present = this.#hosted.get(launch.node_id)
      if (present?.generation === launch.generation) return { state: 'already_hosted', pid: present.process.pid }
      const before = this.#fence.hostedBefore(launch.node_id, launch.generation)
      if (before !== undefined) return { state: 'already_hosted', pid: before }
      const newest = this.#fence.newest(launch.node_id)
      if (launch.generation <= newest) throw new SvcError('stale_generation', undefined, { newest })
      if (present) await this.#end(present, shortGrace)
      if (launch.consent) this.planner.consented = true
      const { node_id: nodeId, cwd, scopes, git_dir: gitDir, makers } = launch
      const plan = await this.planner.planFor({ nodeId, cwd, scopes, gitDir, makers })
      return { state: 'launched', pid: this.#serve(launch, plan).pid }
    })
  }

  /** Ends what hosts the node, if that is of this generation or older; later launches of those are refused. */
  stop(nodeId: string, generation: number, graceMs: number): Promise<{ stopped: boolean }> {
    return this.#inTurn(nodeId, async () => {
      this.#fence.raise(nodeId, generation)
      const present = this.#hosted.get(nodeId)
      if (!present || present.generation > generation) return { stopped: false }
      await this.#end(present, graceMs)
      return { stopped: true }
    })
  }

  /**
   * Path of the socket that the node's broker has opened for viewers.
   *
   * @throws SvcError `no_live_broker` when this host does not host that generation, or its broker ends meanwhile
   */
  async attach(nodeId: string, generation: number): Promise<{ path: string }> {
    const node = this.#hosted.get(nodeId)
    if (!node || node.ending || node.generation !== generation) throw new SvcError('no_live_broker')
    const path = this.#sockets.pathOf(nodeId, generation)
    try {
      await node.process.attach({ type: 'attach', node_id: nodeId, generation, path })
    } catch (cause) {
      const { message } = cause as Error
      throw new SvcError('no_live_broker', `The process of the node opened no socket: ${message}.`, {}, { cause })
    }
    return { path }
  }

  /** Ends every broker with all that it started; resolves when nothing of them is left. */
  async close(): Promise<void> {
    this.#closing = true
    const waiting = this.#pool.close().map((process) => process.end(0))
    await Promise.all([...waiting, ...[...this.#hosted.values()].map((node) => this.#end(node, shutdownGrace))])
  }

  #serve(launch: Launch, plan: SandboxPlan): BrokerProcess {
    if (this.#closing) throw new SvcError('service_unavailable', 'This host is ending', { service: 'host' })
    const { cap } = this.place
    if (this.#hosted.size >= cap)
      throw new SvcError('quota_exceeded', `${cap} brokers live already`, { limit: 'live_brokers', cap })
    const process = this.#take(launch.pool_key)
    const { node_id: nodeId, generation: of } = launch
    const node: HostedNode = { nodeId, generation: of, scopes: equippedWith(launch.scopes), process, ending: undefined }
    this.#hosted.set(node.nodeId, node)
    this.#byProcess.set(process, node)
    this.onCount(this.#hosted.size)
    this.#fence.raise(node.nodeId, node.generation, process.pid)
    const { node_id, generation, token, base_url } = launch
    process.serve(
      {
        type: 'serve',
        node_id,
        generation,
        token,
        base_url,
        host_id: this.place.hostId,
        started_at: process.startedAt,
        scratch_dir: this.planner.scratchOf(node_id),
        plan,
      },
      launch.pool_key,
    )
    return process
  }

  #take(poolKey: string): BrokerProcess {
    try {
      return this.#pool.take(poolKey)
    } catch (cause) {
      throw new SvcError('quota_exceeded', 'The machine gives no more processes', { limit: 'processes' }, { cause })
    }
  }

  #start(): BrokerProcess {
    const process = this.factory.start((message) => this.#released(process, message))
    void process.exited.then((status) => this.#gone(process, status))
    return process
  }

  /** The broker is done: its process may serve another node, unless something that it started still lives. */
  #released(process: BrokerProcess, message: Released): void {
    const node = this.#byProcess.get(process)
    if (!node || node.ending || node.nodeId !== message.node_id || node.generation !== message.generation) return
    if (message.spawned && process.hasTools()) {
      this.log.warn(
        { node_id: node.nodeId, pid: process.pid },
        'a node left processes behind: its broker is ended with them',
      )
      void this.#end(node, shortGrace)
      return
    }
    this.#forget(node)
    this.#pool.give(process)
  }

  async #gone(process: BrokerProcess, status: BrokerExitStatus): Promise<void> {
    const node = this.#byProcess.get(process)
    if (!node) return
    const asked = node.ending !== undefined
    node.ending ??= process.end(shortGrace)
    await node.ending
    if (this.#byProcess.get(process) === node) this.#forget(node)
    this.onExit({
      node_id: node.nodeId,
      generation: node.generation,
      pid: process.pid,
      exit_code: status.code,
      signal: status.signal,
      clean: asked || status.code === 0,
      detail: process.detail,
    })
  }

  /** Ends a node's tree; the notice of its exit follows by `#gone`. */
  async #end(node: HostedNode, graceMs: number): Promise<void> {
    node.ending ??= node.process.end(graceMs)
    await node.ending
    this.#forget(node)
  }

  #forget(node: HostedNode): void {
    this.#sockets.remove(node.nodeId, node.generation)
    if (this.#hosted.get(node.nodeId) === node) this.#hosted.delete(node.nodeId)
    this.onCount(this.#hosted.size)
    if (this.#byProcess.get(node.process) === node) this.#byProcess.delete(node.process)
  }

  async #discard(process: BrokerProcess): Promise<void> {
    await process.end(0)
  }

  async #inTurn<T>(nodeId: string, work: () => Promise<T>): Promise<T> {
    const turn = (this.#queues.get(nodeId) ?? Promise.resolve()).then(work, work)
    const settled = turn.catch(() => undefined)
    this.#queues.set(nodeId, settled)
    try {
      return await turn
    } finally {
      if (this.#queues.get(nodeId) === settled) this.#queues.delete(nodeId)
    }
  }

  private get clock(): Clock {
    return this.factory.clock
  }
}
