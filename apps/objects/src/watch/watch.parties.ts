import { idPattern } from '#common/contract/common.schema.js'
import { contract } from '#common/contract/index.js'
import type { Node } from '#common/contract/node.schema.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import { requireSeen } from '../object/object.access.js'
import type { ObjectRecord } from '../object/object.record.js'
import type { ObjectRepository } from '../object/object.repository.js'

const retrieve = contract['nodes.retrieve']

/** Who watches, or what is watched. */
export type Party =
  | { readonly kind: 'node'; readonly id: string; readonly node: Node }
  | { readonly kind: 'object'; readonly id: string; readonly object: ObjectRecord }

const isNodeId = (ref: string): boolean => idPattern('node').test(ref)
const isMaster = ({ actor }: Context): boolean => actor.kind === 'owner' || actor.kind === 'system'

const hiddenNode = (id: string): SvcError =>
  new SvcError('not_found', `There is no node ${id}.`, { resource: 'node', id })

const ownerOnly = (): SvcError => new SvcError('owner_required', 'What an object watches is its owner’s to say.')

/** As the caller, but for what its scopes open to be read of others. */
const asHolder = (ctx: Context): Context => ({ ...ctx, actor: { ...ctx.actor, scopes: [] } })

/** Finds the two ends of a watch for those who may have the one watch the other. Lifecycle says who reaches which node. */
export class WatchParties {
  constructor(
    private readonly database: Database,
    private readonly objects: ObjectRepository,
    private readonly bus: Bus,
  ) {}

  /**
   * Whom the caller may have watch: any node and object for the owner, else a node of its own or below it.
   *
   * @throws SvcError not_found, owner_required
   */
  async watcher(ctx: Context, ref: string): Promise<Party> {
    if (isNodeId(ref)) return this.#node(asHolder(ctx), ref)
    if (!isMaster(ctx)) throw ownerOnly()
    return this.#object(ctx, ref)
  }

  /**
   * What the caller may have it watch: an object that the caller sees, a node of the watcher's tree, and any other that the
   * caller may read.
   *
   * @throws SvcError not_found
   */
  async source(ctx: Context, ref: string, watcher: Party | Pick<Party & { kind: 'object' }, 'kind'>): Promise<Party> {
    if (!isNodeId(ref)) return this.#object(ctx, ref)
    if (watcher.kind === 'node') {
      const party = await this.#node(this.#itself(ctx), ref)
      if (party.node.root_id === watcher.node.root_id) return party
    }
    return this.#node(ctx, ref)
  }

  /** Id of a party whose watches the caller may look at. @throws SvcError not_found */
  async seen(ctx: Context, ref: string): Promise<string> {
    if (!isNodeId(ref)) return (await this.#object(ctx, ref)).id
    return isMaster(ctx) ? ref : (await this.#node(ctx, ref)).id
  }

  /** Id of a watcher whose watches the caller may end; the owner also those of a node that is gone. @throws SvcError not_found, owner_required */
  async ending(ctx: Context, ref: string): Promise<string> {
    return isMaster(ctx) ? this.seen(ctx, ref) : (await this.watcher(ctx, ref)).id
  }

  /** Id of what one has watched so far, whether or not the caller sees it any more; undefined for a name that nothing has. */
  async watched(ref: string): Promise<string | undefined> {
    if (isNodeId(ref) || idPattern('obj').test(ref)) return ref
    return (await this.objects.find(this.database, ref))?.id
  }

  async #object(ctx: Context, ref: string): Promise<Party & { kind: 'object' }> {
    const object = requireSeen(ctx, ref, await this.objects.find(this.database, ref))
    return { kind: 'object', id: object.id, object }
  }

  async #node(ctx: Context, id: string): Promise<Party & { kind: 'node' }> {
    try {
      return { kind: 'node', id, node: await this.bus.call(retrieve, ctx, { id }) }
    } catch (error) {
      throw hasCode(error, 'not_found') ? hiddenNode(id) : error
    }
  }

  /** In this service's own name, within the time of the caller. */
  #itself({ requestId, deadline, signal }: Context): Context {
    return { ...systemContext('objects', signal), requestId, ...(deadline !== undefined && { deadline }) }
  }
}
