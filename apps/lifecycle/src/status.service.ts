import { Injectable } from '@nestjs/common'
import { contract, nodeLimits, type OutputOf } from '#common/contract/index.js'
import { isoTime } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { version } from '#common/kernel/version.js'
import { CanvasRepository } from './canvas/canvas.repository.js'
import { Horizons } from './canvas/horizon.js'
import { Leader } from './leader.js'
import { NodeRepository } from './node/node.repository.js'
import { HostRegistry } from './supervision/host.registry.js'
import { WorktreeHomes } from './worktree/worktree.home.js'

const status = contract['lifecycle.status']
const principal = contract['lifecycle.node.principal']

@Injectable()
export class StatusService {
  constructor(
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly canvas: CanvasRepository,
    private readonly horizons: Horizons,
    private readonly hosts: HostRegistry,
    private readonly leader: Leader,
    private readonly homes: WorktreeHomes,
  ) {}

  /** The nodes are those that the caller may see. */
  async status(ctx: Context): Promise<OutputOf<typeof status>> {
    return {
      version,
      epoch: this.leader.epoch ?? 0,
      nodes: await this.canvas.statusCounts(this.database, await this.horizons.of(ctx, this.database)),
      hosts: this.hosts.present().map((host) => ({
        host_id: host.host_id,
        version: host.version,
        seen_at: isoTime(host.seenAt),
        live: host.live,
        warm: host.warm,
        cap: host.cap,
        sandbox: host.sandbox,
      })),
      limits: { ...nodeLimits },
    }
  }

  /** Whom a node's token stands for. A token goes with its node: one that was canceled has none any more. */
  async principal(nodeId: string): Promise<OutputOf<typeof principal>> {
    const node = await this.nodes.get(this.database, nodeId)
    const git_dir = await this.homes.gitDirOf(this.database, node)
    return {
      node_id: node.id,
      generation: node.generation,
      ended: node.status === 'canceled',
      scopes: node.scopes,
      root_id: node.root_id,
      principal: node.principal,
      app_id: node.app_id,
      profile: node.profile,
      place: { cwd: node.cwd, host_id: node.broker_host_id, git_dir },
    }
  }
}
