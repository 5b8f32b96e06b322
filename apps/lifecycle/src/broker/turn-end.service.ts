import { Injectable } from '@nestjs/common'
import type { JournalEntry } from '#common/contract/index.js'
import type { TxContext } from '#common/kernel/database/writer.js'
import { ContextService } from '../context/context.service.js'
import { FaultService } from '../fault/fault.service.js'
import { MailRepository } from '../mail/mail.repository.js'
import { Engagements } from '../node/engagement.service.js'
import type { NodeRecord } from '../node/node.record.js'
import type { Family } from '../node/node.repository.js'
import { NodeTransitions } from '../node/node.transition.js'
import { ReportRepository } from '../report/report.repository.js'
import { ReportService } from '../report/report.service.js'
import { WaitedForRepository } from '../wait/waited-for.repository.js'

export type TurnEnded = Extract<JournalEntry, { type: 'turn_ended' }>

/** What becomes of a node when a turn has ended: it goes on, rests, ends, or is tried again later. */
@Injectable()
export class TurnEndService {
  constructor(
    private readonly mail: MailRepository,
    private readonly reports: ReportRepository,
    private readonly reporting: ReportService,
    private readonly engagements: Engagements,
    private readonly transitions: NodeTransitions,
    private readonly faults: FaultService,
    private readonly waitedFor: WaitedForRepository,
    private readonly contexts: ContextService,
  ) {}

  async end(ctx: TxContext, family: Family, entry: TurnEnded): Promise<NodeRecord> {
    if (family.node.status !== 'active') return this.engagements.reopen(ctx, family.node)
    const refreshed = family.node.intent === 'refresh' && (await this.contexts.turnEnded(ctx, family.node, entry))
    if (refreshed) return refreshed
    if (entry.status === 'failed') {
      return this.faults.fail(ctx, family, entry.fault ?? { kind: 'other', message: 'The turn failed.' })
    }
    const node = this.withoutFault(ctx, family.node)
    if (node.lifecycle === 'resident' && entry.final !== undefined) {
      this.reporting.record(ctx, { ...family, node }, { kind: 'update', body: entry.final })
    }
    const waiting = await this.mail.waiting(ctx.tx, node.id)
    if (waiting.waking > 0) return this.wake(ctx, node)
    if (entry.status === 'interrupted' || node.lifecycle === 'resident' || (await this.awaits(ctx, node))) {
      return this.engagements.release(ctx, node)
    }
    return this.conclude(ctx, { ...family, node }, entry)
  }

  /** A turn that ended otherwise than by its fault has got over it. */
  private withoutFault(ctx: TxContext, node: NodeRecord): NodeRecord {
    if (!node.fault) return node
    ctx.tx.emit({ nodeId: node.id, type: 'node.fault_cleared', data: { kind: node.fault.kind } })
    return this.transitions.change(ctx, node, { fault: null })
  }

  /** Mail that came before the end of the turn: it goes on, and a wait is over before it began. */
  private wake(ctx: TxContext, node: NodeRecord): NodeRecord {
    if (!node.waiting_since) return node
    ctx.tx.emit({ nodeId: node.id, type: 'node.woken', data: { by: 'mail' } })
    return this.transitions.change(ctx, node, { waiting_since: null, wait_until: null, wait_reason: null })
  }

  /** A program that has ended has said its last; anything else is not done while something may still bring it news. */
  private async awaits(ctx: TxContext, node: NodeRecord): Promise<boolean> {
    if (node.waiting_since) return true
    return node.engine !== 'exec' && (await this.waitedFor.of(ctx.tx, node)).length > 0
  }

  /** A terminal node has nothing more to do: its final report ends it. */
  private async conclude(ctx: TxContext, family: Family, entry: TurnEnded): Promise<NodeRecord> {
    const { node } = family
    if (node.result_schema && !(await this.reports.result(ctx.tx, node.id, node.engagement))) {
      return this.engagements.crash(ctx, family, {
        kind: 'other',
        message: 'It ended its work without the result that its result_schema asks for.',
      })
    }
    const body = entry.final ?? (await this.reports.newest(ctx.tx, node.id, node.engagement))?.body
    if (body === undefined) return this.engagements.release(ctx, node)
    this.reporting.record(ctx, family, { kind: 'final', body })
    return { ...node, status: 'done' }
  }
}
