import { Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import { contract } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { baseUrlOf, SETTINGS, type Settings } from '#common/kernel/config.js'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { hasCode } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { deriveNodeToken } from '#common/kernel/tokens.js'
import { isHeld } from '../fault/fault.hold.js'
import { Ceilings } from '../grant/ceilings.js'
import { GrantHold } from '../grant/grant.hold.js'
import { makersOf } from '../node/node.makers.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { SandboxGate } from '../sandbox/sandbox.gate.js'
import { WorktreeHomes } from '../worktree/worktree.home.js'
import { HostRegistry } from './host.registry.js'
import { LaunchQueue } from './launch.queue.js'
import { isFinal, LaunchRefusals } from './launch.refusal.js'
import { launchTimeOf } from './launch.time.js'

export const NODE_TOKEN_KEY = Symbol('node token key')

/** A launch that a host took over from this process. */
export interface Launched {
  readonly generation: number
  readonly hostId: string
  readonly incarnation: string
  /** Monotonic ms. */
  readonly at: number
}

/** How long launches wait (ms) when the host said that it is full; what ends meanwhile makes room. */
const fullPauseMs = 200

/**
 * Carries launches to a host, a bounded number at a time. A launch is idempotent by node and generation, so that one
 * whose answer was lost is simply repeated by the supervisor's next look.
 */
@Injectable()
export class Launcher implements OnModuleInit {
  private readonly waiting = new Set<string>()
  private readonly launched = new Map<string, Launched>()
  private readonly carrying = new Set<string>()
  private readonly obstacles = new Map<string, unknown>()
  private open = false
  private full = false

  constructor(
    private readonly bus: Bus,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly hosts: HostRegistry,
    private readonly queue: LaunchQueue,
    private readonly gate: SandboxGate,
    private readonly refusals: LaunchRefusals,
    private readonly homes: WorktreeHomes,
    private readonly ceilings: Ceilings,
    private readonly grants: GrantHold,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(NODE_TOKEN_KEY) private readonly tokenKey: Buffer,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  onModuleInit(): void {
    this.queue.follow(
      (nodeId) => this.launch(nodeId),
      (nodeId, generation) => this.stop(nodeId, generation),
    )
  }

  /** Launches are carried out from now on; while closed they wait. */
  resume(): void {
    this.open = true
    this.next()
  }

  suspend(): void {
    this.open = false
    this.waiting.clear()
    this.launched.clear()
    this.obstacles.clear()
  }

  /** The launch of this generation, when a host took it over from this process. */
  launchOf(nodeId: string, generation: number): Launched | undefined {
    const known = this.launched.get(nodeId)
    return known?.generation === generation ? known : undefined
  }

  /** What the last try to launch a node failed by, until one succeeds. */
  obstacleOf(nodeId: string): unknown {
    return this.obstacles.get(nodeId)
  }

  /** Forgets the launches of all other nodes. */
  retain(nodeIds: ReadonlySet<string>): void {
    for (const known of [this.launched, this.obstacles]) {
      for (const id of known.keys()) if (!nodeIds.has(id)) known.delete(id)
    }
  }

  launch(nodeId: string): void {
    this.waiting.add(nodeId)
    this.next()
  }

  /** Ends the processes of a node up to a generation. What can't be reached now is found again by the supervisor. */
  stop(nodeId: string, generation: number): void {
    this.launched.delete(nodeId)
    const host = this.hosts.hostOf(nodeId, generation) ?? this.hosts.choose()
    if (!host) return
    this.bus
      .call(
        contract['host.broker.stop'],
        systemContext('lifecycle'),
        { node_id: nodeId, generation },
        { target: host.host_id },
      )
      .catch((err: unknown) =>
        this.log.warn({ err, node_id: nodeId, generation }, 'a process could not be stopped yet'),
      )
  }

  private next(): void {
    while (this.open && !this.full && this.carrying.size < this.settings.SVC_LAUNCH_CONCURRENCY) {
      // one at a time for a node, so that what is asked twice is done once
      const nodeId = this.waiting.values().find((id) => !this.carrying.has(id))
      if (nodeId === undefined) return
      this.waiting.delete(nodeId)
      this.carrying.add(nodeId)
      this.carry(nodeId)
        .catch((err: unknown) => this.postpone(nodeId, err))
        .finally(() => {
          this.carrying.delete(nodeId)
          this.next()
        })
    }
  }

  /** A full host is asked again soon; anything else waits for the supervisor's next look. */
  private postpone(nodeId: string, err: unknown): void {
    this.obstacles.set(nodeId, err)
    if (!hasCode(err, 'quota_exceeded')) {
      this.log.warn({ err, node_id: nodeId }, 'a node could not be launched yet')
      return
    }
    this.waiting.add(nodeId)
    if (this.full) return
    this.log.debug({ err, waiting: this.waiting.size }, 'no host has room')
    this.full = true
    this.clock.after(fullPauseMs, () => {
      this.full = false
      this.next()
    })
  }

  private async carry(nodeId: string): Promise<void> {
    const host = this.hosts.choose()
    if (!host) return
    const node = await this.nodes.find(this.database, nodeId)
    if (node?.status !== 'active' || node.broker_state === 'bound' || isHeld(node)) return
    if (launchTimeOf(node, this.clock.now()) !== null) return
    if (this.launchOf(nodeId, node.generation)) return
    // a tree that is being made: its node is launched when it is there
    const home = await this.homes.of(this.database, node)
    if (home?.state === 'creating') return
    const ceiling = await this.ceilings.of(this.database, node)
    if (ceiling.state !== 'granted') return this.grants.hold(node)
    const target = host.host_id
    try {
      await this.homes.requireUsable(this.database, node, 'launch')
      await this.homes.makeReady(this.database, node)
      const order = {
        ...this.order(node, ceiling.scopes),
        git_dir: home?.git_dir ?? null,
        makers: await makersOf({ nodes: this.nodes, ceilings: this.ceilings }, this.database, node),
        consent: await this.gate.requireOn(this.database, host, node),
      }
      await this.bus.call(contract['host.broker.launch'], systemContext('lifecycle'), order, { target })
    } catch (error) {
      if (!isFinal(error)) throw error
      this.log.warn({ err: error, node_id: nodeId }, 'a node can not be launched: it ends')
      return this.refusals.end(nodeId, node.generation, error)
    }
    // a host that was restarted meanwhile has said so before it answered
    const incarnation = this.hosts.find(target)?.incarnation ?? host.incarnation
    const at = this.clock.monotonic()
    this.launched.set(nodeId, { generation: node.generation, hostId: target, incarnation, at })
    this.obstacles.delete(nodeId)
  }

  private order(node: NodeRecord, scopes: readonly string[]) {
    return {
      node_id: node.id,
      generation: node.generation,
      token: deriveNodeToken(this.tokenKey, node.id, node.generation),
      base_url: baseUrlOf(this.settings),
      cwd: node.cwd,
      scopes: [...scopes],
      pool_key: `${node.principal}/${node.app_id ?? ''}`,
    }
  }
}
