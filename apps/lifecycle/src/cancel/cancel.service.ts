import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { HumanResolutions } from '../human/human-resolution.service.js'
import { Engagements } from '../node/engagement.service.js'
import { NodeAccess } from '../node/node.access.js'
import { NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { closingSet } from './closing.set.js'
import { type Kin, KinRepository } from './kin.repository.js'

const operation = contract['nodes.cancel']

/** Nodes that ended with one, and those below it that go on since somebody outside watches them. */
export interface Canceled {
  readonly canceled: string[]
  readonly spared: string[]
}

/** Ends a node for good, with all below it that nobody else watches. */
@Injectable()
export class CancelService {
  constructor(
    private readonly writer: Writer,
    private readonly nodes: NodeRepository,
    private readonly kin: KinRepository,
    private readonly access: NodeAccess,
    private readonly engagements: Engagements,
    private readonly questions: HumanResolutions,
  ) {}

  /** @throws SvcError not_found, illegal_transition (canceled) */
  request(ctx: Context, input: InputOf<typeof operation>): Promise<Written<OutputOf<typeof operation>>> {
    return this.writer.once(ctx, { operation: operation.name, input }, async (within) => {
      await this.access.requireOwn(ctx, within.tx, await this.nodes.get(within.tx, input.id))
      return this.cancel(within, input.id)
    })
  }

  /** The node and its closing set. @throws SvcError not_found, illegal_transition (canceled) */
  async cancel(ctx: TxContext, id: string): Promise<Canceled> {
    const kin = await this.kin.lock(ctx.tx, id)
    const { node, subscribers } = kin.family
    requireLegal(node.status, 'cancel')
    const { canceled, spared, inside } = this.close(ctx, kin)
    const outside = subscribers.filter((subscriber) => !inside.has(subscriber.node.id))
    this.engagements.cancel(ctx, { node, subscribers: outside })
    await this.questions.withdrawAll(ctx, [id, ...canceled])
    return { canceled: [id, ...canceled], spared }
  }

  /**
   * What would end with the node, itself excepted. Locks it with all below it and its subscribers: to be called before
   * the transaction has locked any of them but the node itself.
   *
   * @throws SvcError not_found
   */
  async cancelBelow(ctx: TxContext, rootId: string): Promise<Canceled> {
    const { canceled, spared } = this.close(ctx, await this.kin.lock(ctx.tx, rootId))
    await this.questions.withdrawAll(ctx, canceled)
    return { canceled, spared }
  }

  /** Nobody outside watches what ends here, so nobody is to be told but those of the node itself. */
  private close(ctx: TxContext, { family, below, watches }: Kin): Canceled & { inside: ReadonlySet<string> } {
    const open = below.filter(({ status }) => status !== 'canceled')
    const ids = below.map(({ id }) => id)
    const inside = closingSet(family.node.id, ids, watches)
    const [canceled, spared] = [open.filter(({ id }) => inside.has(id)), open.filter(({ id }) => !inside.has(id))]
    for (const node of canceled) this.engagements.cancel(ctx, { node, subscribers: [] })
    return { canceled: canceled.map(({ id }) => id), spared: spared.map(({ id }) => id), inside }
  }
}
