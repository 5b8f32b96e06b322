import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { viewerProtocol } from '#common/contract/viewer.operations.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { isoTime } from '#common/kernel/clock.js'
import type { Actor, Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { SvcError } from '#common/kernel/errors.js'
import { version } from '#common/kernel/version.js'
import { NodeAccess } from '../node/node.access.js'
import { NodeRepository } from '../node/node.repository.js'
import { NodeService } from '../node/node.service.js'
import { HostRegistry } from '../supervision/host.registry.js'
import { ViewerTickets } from './viewer.tickets.js'

const viewer = contract['nodes.broker.viewer']
type Attached = OutputOf<(typeof contract)['nodes.attach']>

const theOwner: Actor = { kind: 'owner', principal: 'owner', tokenId: null, scopes: ['*'] }

/** A key that a broker makes must not be one that the owner uses. */
const keyOf = ({ idempotencyKey: key }: Context, id: string): { idempotencyKey?: string } =>
  key === undefined ? {} : { idempotencyKey: `viewer ${id} ${key}` }

/** People at the socket of a node's process: how they get there, and what they ask for once they are. */
@Injectable()
export class AttachService {
  constructor(
    private readonly bus: Bus,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly access: NodeAccess,
    private readonly service: NodeService,
    private readonly hosts: HostRegistry,
    private readonly tickets: ViewerTickets,
  ) {}

  /** @throws SvcError not_found, no_live_broker, service_unavailable when its host can't be reached, owner_required */
  async attach(ctx: Context, id: string): Promise<Attached> {
    if (ctx.actor.kind !== 'owner') throw new SvcError('owner_required')
    const { status, generation, broker_state, broker_host_id } = await this.nodes.get(this.database, id)
    const bound = broker_state === 'bound' ? broker_host_id : null
    const host_id = bound ?? this.hosts.hostOf(id, generation)?.host_id
    const over = status === 'canceled' || status === 'dead'
    if (host_id === undefined || over) {
      throw new SvcError('no_live_broker', `The node is ${status}; no process hosts it.`, { state: status })
    }
    const { path } = await this.bus.call(
      contract['host.broker.attach'],
      ctx,
      { node_id: id, generation },
      { target: host_id },
    )
    const { ticket, expiresAt } = this.tickets.give(id, generation)
    return { path, host_id, generation, protocol: viewerProtocol, version, ticket, expires_at: isoTime(expiresAt) }
  }

  /**
   * Done as the owner, whom the ticket proves; the request's id says that it came by a viewer.
   *
   * @throws SvcError owner_required, stale_generation, and what a message or an interrupt throws
   */
  async act(ctx: Context, { id, ticket, act }: InputOf<typeof viewer>): Promise<OutputOf<typeof viewer>> {
    const node = await this.nodes.get(this.database, id)
    this.access.requireHosted(ctx, node)
    this.tickets.require(ticket, id, node.generation)
    const asOwner = { ...ctx, actor: theOwner, requestId: `viewer-${ctx.requestId}`, ...keyOf(ctx, id) }
    switch (act.type) {
      case 'control':
        return {}
      case 'interrupt':
        return (await this.service.interrupt(asOwner, { id })).value
      case 'message':
        return (await this.service.message(asOwner, { id, body: act.body, tier: act.tier } as never)).value
    }
  }
}
