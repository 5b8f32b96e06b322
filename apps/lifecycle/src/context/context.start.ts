import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { TxContext } from '#common/kernel/database/writer.js'
import type { NodeRecord } from '../node/node.record.js'
import { ContextRepository } from './context.repository.js'

/**
 * Decides that a node begins a fresh context with its next process. What that takes is written when the process binds:
 * until then the old one may still be ending. The kickoff without a text is what says that it is owed.
 */
@Injectable()
export class ContextStart {
  constructor(
    private readonly contexts: ContextRepository,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Fields of a node that is launched with a new generation, in the transaction that raises it. A program has no
   * conversation, and gets none.
   *
   * @param cut whether a process may have asked the model already for a turn that it had not recorded: the number of that
   * turn isn't used again, since its answer is kept under it
   */
  begin(ctx: TxContext, node: NodeRecord, engagement: number, cut: boolean): Partial<NodeRecord> {
    if (node.engine === 'exec') return {}
    const context = node.context + 1
    const at = new Date(this.clock.now())
    this.contexts.dropKickoff(ctx.tx, node.id, at)
    this.contexts.oweKickoff(ctx.tx, { nodeId: node.id, context, engagement, at })
    ctx.tx.emit({ nodeId: node.id, type: 'node.refreshed', data: { context, generation: node.generation + 1 } })
    return { context, context_tokens: 0, ...(cut && { turn: node.turn + 1 }) }
  }
}
