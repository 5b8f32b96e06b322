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
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { HostRegistry } from './host.registry.js'
import { LaunchQueue } from './launch.queue.js'

export const NODE_TOKEN_KEY = Symbol('node token key')

interface Launched {
  readonly generation: number
  readonly hostId: string
  readonly at: number
}

/**
 * Carries launches to a host, a bounded number at a time. A launch is idempotent by node and generation, so that one
 * whose answer was lost is simply repeated by the supervisor's next look.
 */
@Injectable()
export class Launcher implements OnModuleInit {
  private readonly waiting = new Set<string>()
  private readonly launched = new Map<string, Launched>()
  private underWay = 0
  private open = false

  constructor(
    private readonly bus: Bus,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly hosts: HostRegistry,
    private readonly queue: LaunchQueue,
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
  }

  /** When a host took this generation over (ms since the epoch); null when this process knows of none. */
  launchedAt(nodeId: string, generation: number): number | null {
    const known = this.launched.get(nodeId)
    return known?.generation === generation ? known.at : null
  }

  hostOf(nodeId: string, generation: number): string | null {
    const known = this.launched.get(nodeId)
    return known?.generation === generation ? known.hostId : null
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
    while (this.open && this.underWay < this.settings.SVC_LAUNCH_CONCURRENCY) {
      const [nodeId] = this.waiting
      if (nodeId === undefined) return
      this.waiting.delete(nodeId)
      this.underWay += 1
      this.carry(nodeId)
        .catch((err: unknown) => this.log.warn({ err, node_id: nodeId }, 'a node could not be launched yet'))
        .finally(() => {
          this.underWay -= 1
          this.next()
        })
    }
  }

  private async carry(nodeId: string): Promise<void> {
    const host = this.hosts.choose()
    if (!host) return
    const node = await this.nodes.find(this.database, nodeId)
    if (node?.status !== 'active' || node.broker_state !== 'launching') return
    if (node.next_launch_at && node.next_launch_at.getTime() > this.clock.now()) return
    try {
      await this.bus.call(contract['host.broker.launch'], systemContext('lifecycle'), this.order(node), {
        target: host.host_id,
      })
      const known = this.launched.get(nodeId)
      if (known?.generation !== node.generation) {
        this.launched.set(nodeId, { generation: node.generation, hostId: host.host_id, at: this.clock.now() })
      }
    } catch (error) {
      if (!hasCode(error, 'stale_generation')) throw error
    }
  }

  private order(node: NodeRecord) {
    return {
      node_id: node.id,
      generation: node.generation,
      token: deriveNodeToken(this.tokenKey, node.id, node.generation),
      base_url: baseUrlOf(this.settings),
      cwd: node.cwd,
      pool_key: `${node.principal}/${node.app_id ?? ''}`,
    }
  }
}
