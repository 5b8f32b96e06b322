import { Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import { Inbox } from '#common/kernel/database/inbox.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { Writer } from '#common/kernel/database/writer.js'
import { ContextRepository } from '../context/context.repository.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { NodeTransitions } from '../node/node.transition.js'

const record = contract['lifecycle.usage.record']

/** Puts the usage of a finished model call on its node's account, once however often it is told. */
@Injectable()
export class UsageService {
  private readonly inbox = new Inbox('canvas')

  constructor(
    private readonly writer: Writer,
    private readonly nodes: NodeRepository,
    private readonly transitions: NodeTransitions,
    private readonly contexts: ContextRepository,
  ) {}

  record(ctx: Context, input: InputOf<typeof record>): Promise<OutputOf<typeof record>> {
    return this.writer.transact(ctx, async (within) => {
      const { tx } = within
      const recorded = await this.inbox.once(tx, 'models', input.source_event, async () => {
        const [node] = [...(await this.nodes.lockAll(tx, [input.node_id])).values()]
        if (!node) return
        const context_tokens = await this.gauge(tx, node, input.context_tokens)
        this.transitions.change(within, node, {
          input_tokens: node.input_tokens + input.usage.input_tokens,
          output_tokens: node.output_tokens + input.usage.output_tokens,
          cached_tokens: node.cached_tokens + input.usage.cached_tokens,
          cost_usd: node.cost_usd + input.usage.cost_usd,
          context_tokens,
        })
        tx.emit({
          nodeId: node.id,
          type: 'node.usage',
          data: { model: input.model, ...input.usage, context_tokens },
        })
      })
      return { recorded }
    })
  }

  /** What is told late of a conversation that was closed says nothing of the one that is to begin. */
  private async gauge(tx: Tx, node: NodeRecord, told: number | undefined): Promise<number> {
    if (told === undefined) return node.context_tokens
    return node.context > 1 && (await this.contexts.hasUnreadKickoff(tx, node.id)) ? 0 : told
  }
}
