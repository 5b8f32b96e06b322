import { Injectable } from '@nestjs/common'
import type { Actor, Context } from '#common/kernel/context.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import type { NodeRecord } from './node.record.js'
import { NodeRepository } from './node.repository.js'

const hidden = (id: string): never => {
  throw new SvcError('not_found', `There is no node ${id}.`, { resource: 'node', id })
}

/** Whether its scopes open the nodes of another application than its own; of their family nothing but itself covers one. */
export const readsNodesOf = ({ appId, scopes }: Actor, app: string): boolean =>
  app !== appId && scopes.includes(`svc:objects:read:app:${app}`)

/** Which nodes a caller may reach. "Missing" and "not yours" answer alike. */
@Injectable()
export class NodeAccess {
  constructor(private readonly nodes: NodeRepository) {}

  /**
   * A node reaches its own subtree, an app its own nodes, of one profile where its token is confined to that; the owner all.
   *
   * @throws SvcError not_found
   */
  async requireOwn(ctx: Context, reader: Reader, row: NodeRecord): Promise<void> {
    const { kind, nodeId, appId, profile } = ctx.actor
    if (kind === 'owner' || kind === 'system') return
    if (kind === 'node' && nodeId !== undefined) {
      if (row.id === nodeId || (await this.nodes.isWithin(reader, row.id, nodeId))) return
    } else if (appId !== undefined && row.app_id === appId && (profile ?? row.profile) === row.profile) return
    hidden(row.id)
  }

  /** To read and nothing else: its own, and what its scopes open of another application. @throws SvcError not_found */
  async requireReadable(ctx: Context, reader: Reader, row: NodeRecord): Promise<void> {
    if (row.app_id === null || !readsNodesOf(ctx.actor, row.app_id)) await this.requireOwn(ctx, reader, row)
  }

  /** A node may write to anybody in its tree: its parent, its siblings, its children. @throws SvcError not_found */
  async requireSameTree(ctx: Context, reader: Reader, row: NodeRecord): Promise<void> {
    if (ctx.actor.kind !== 'node' || ctx.actor.nodeId === undefined) return this.requireOwn(ctx, reader, row)
    const self = await this.nodes.get(reader, ctx.actor.nodeId)
    if (self.root_id !== row.root_id) hidden(row.id)
  }

  /**
   * Only the process that hosts the node now. A node that was canceled, or that was given up, is hosted by nobody.
   *
   * @throws SvcError stale_generation, node_token_required
   */
  requireHosted(ctx: Context, row: NodeRecord): void {
    this.requireGeneration(ctx, row)
    if (row.status === 'canceled' || row.status === 'dead') {
      throw new SvcError('stale_generation', `The node is ${row.status}; nothing was written.`, { state: row.status })
    }
  }

  /** Only a process of the newest generation, by its token. @throws SvcError stale_generation, node_token_required */
  requireGeneration(ctx: Context, row: NodeRecord): void {
    if (ctx.actor.nodeId !== row.id) throw new SvcError('node_token_required')
    if (ctx.actor.generation !== row.generation) {
      throw new SvcError('stale_generation', undefined, { generation: row.generation })
    }
  }
}
