import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { SvcError } from '#common/kernel/errors.js'
import { subjects } from '#common/kernel/subjects.js'
import { NodeAccess } from '../node/node.access.js'
import { NodeRepository } from '../node/node.repository.js'
import { InProgressStore } from './in-progress.store.js'

const publish = contract['nodes.broker.deltas']
const inProgress = contract['lifecycle.node.inProgress']

/** Nodes whose place in their tree is remembered between two batches of deltas. */
const remembered = 1000

/** Live text on its way to those who watch: never stored, kept in memory only as long as its message is in progress. */
@Injectable()
export class DeltaService {
  private readonly roots = new Map<string, { readonly generation: number; readonly rootId: string }>()

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

  async inProgress(_ctx: Context, { id }: InputOf<typeof inProgress>): Promise<OutputOf<typeof inProgress>> {
    return { parts: this.store.of(id) }
  }

  private async rootOf(ctx: Context, id: string): Promise<string> {
    const known = this.roots.get(id)
    if (known && known.generation === ctx.actor.generation && ctx.actor.nodeId === id) return known.rootId
    const node = await this.nodes.get(this.database, id)
    this.access.requireHosted(ctx, node)
    if (node.status === 'canceled') throw new SvcError('stale_generation')
    if (this.roots.size >= remembered) this.roots.clear()
    this.roots.set(id, { generation: node.generation, rootId: node.root_id })
    return node.root_id
  }
}
