import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { subjects } from '#common/kernel/subjects.js'
import { NodeAccess } from '../node/node.access.js'
import { NodeRepository } from '../node/node.repository.js'
import { InProgressStore } from './in-progress.store.js'

const publish = contract['nodes.broker.deltas']
const inProgress = contract['lifecycle.node.inProgress']

/** Live text on its way to those who watch: never stored, kept in memory only as long as its message is in progress. */
@Injectable()
export class DeltaService {
  constructor(
    private readonly bus: Bus,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly access: NodeAccess,
    private readonly store: InProgressStore,
  ) {}

  /** @throws SvcError stale_generation */
  async publish(ctx: Context, { id, deltas }: InputOf<typeof publish>): Promise<OutputOf<typeof publish>> {
    const rootId = await this.rootOf(ctx, id)
    const fresh = deltas.filter((delta) => delta.generation === ctx.actor.generation)
    const whole = fresh.map((delta) => this.store.append(id, delta)).every(Boolean)
    this.bus.publish(subjects.nodeLive(id), { node_id: id, root_id: rootId, deltas: fresh })
    return { resync: !whole }
  }

  async inProgress(ctx: Context, { id }: InputOf<typeof inProgress>): Promise<OutputOf<typeof inProgress>> {
    if (ctx.actor.kind !== 'system') {
      await this.access.requireReadable(ctx, this.database, await this.nodes.get(this.database, id))
    }
    return { parts: this.store.of(id) }
  }

  private async rootOf(ctx: Context, id: string): Promise<string> {
    const known = ctx.actor.nodeId === id ? this.store.rootOf(id, ctx.actor.generation) : undefined
    if (known !== undefined) return known
    const node = await this.nodes.get(this.database, id)
    this.access.requireHosted(ctx, node)
    // a node that rests or has ended may still tell of its last turn, but nothing of it is in progress
    if (node.status === 'active') this.store.open(id, node.generation, node.root_id)
    return node.root_id
  }
}
