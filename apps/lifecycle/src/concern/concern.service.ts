import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { Engagements } from '../node/engagement.service.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { ConcernRepository } from './concern.repository.js'

const set = contract['lifecycle.concern.set']
type Concern = NonNullable<InputOf<typeof set>['concern']>

/** Takes in what another service says of something that needs a person, or does no more. */
@Injectable()
export class ConcernService {
  constructor(
    private readonly writer: Writer,
    private readonly concerns: ConcernRepository,
    private readonly nodes: NodeRepository,
    private readonly engagements: Engagements,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The node that it belongs to finds word of it with its next work: it is not woken to what only a person can see to. */
  set(ctx: Context, input: InputOf<typeof set>): Promise<OutputOf<typeof set>> {
    const { ref, version, concern } = input
    return this.writer.transact(ctx, async (within) => {
      const at = new Date(this.clock.now())
      // the node before what is about it, as everywhere
      const nodes = await this.nodes.lockAll(within.tx, concern?.node_id ? [concern.node_id] : [])
      const known = await this.concerns.lock(within.tx, ref, at)
      if (known.version >= version) return { noted: false }
      this.concerns.save(within.tx, input, at)
      const [node] = nodes.values()
      if (concern && !known.open && node && node.status !== 'canceled') this.tell(within, node, ref, concern)
      return { noted: true }
    })
  }

  private tell(ctx: TxContext, node: NodeRecord, ref: string, { name, message, remedy }: Concern): void {
    this.engagements.hand(ctx, node, {
      tier: 'deferred',
      kind: 'notice',
      body: `Of your schedule ${name} (${ref}): ${message}\n${remedy}`,
      source: { kind: 'system', id: null },
      reopens: false,
    })
  }
}
