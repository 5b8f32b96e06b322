import { Inject, Injectable } from '@nestjs/common'
import type { Fault, JournalEntry } from '#common/contract/index.js'
import { CLOCK, type Clock, isoTime } from '#common/kernel/clock.js'
import type { TxContext } from '#common/kernel/database/writer.js'
import { MailRepository } from '../mail/mail.repository.js'
import { Engagements } from '../node/engagement.service.js'
import type { NodeRecord } from '../node/node.record.js'
import type { Family } from '../node/node.repository.js'
import { ReportRepository } from '../report/report.repository.js'
import { ReportService } from '../report/report.service.js'
import { isPassing, retryDelay } from '../supervision/fault.policy.js'

export type TurnEnded = Extract<JournalEntry, { type: 'turn_ended' }>

/** What becomes of a node when a turn has ended: it goes on, rests, ends, or is tried again later. */
@Injectable()
export class TurnEndService {
  constructor(
    private readonly mail: MailRepository,
    private readonly reports: ReportRepository,
    private readonly reporting: ReportService,
    private readonly engagements: Engagements,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async end(ctx: TxContext, family: Family, entry: TurnEnded): Promise<NodeRecord> {
    const { node } = family
    if (node.status !== 'active') return node
    if (entry.status === 'failed') return this.fail(ctx, family, entry)
    if (node.lifecycle === 'resident' && entry.final !== undefined) {
      this.reporting.record(ctx, family, { kind: 'update', body: entry.final })
    }
    const waiting = await this.mail.waiting(ctx.tx, node.id)
    if (waiting.waking > 0) return node
    if (entry.status === 'interrupted' || node.lifecycle === 'resident') return this.engagements.release(ctx, node)
    return this.conclude(ctx, family, entry)
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

  /** A provider's passing fault is tried again after a delay; anything else ends the node, and its watchers hear why. */
  private fail(ctx: TxContext, family: Family, entry: TurnEnded): NodeRecord {
    const { node } = family
    const { kind, message, retry_after_ms } = entry.fault ?? { kind: 'other' as const, message: 'The turn failed.' }
    if (!isPassing(kind)) return this.engagements.crash(ctx, family, { kind, message })
    const now = this.clock.now()
    const since = node.fault?.kind === kind ? node.fault.since : isoTime(now)
    const delayMs = retryDelay(kind, now - Date.parse(since), retry_after_ms)
    const fault: Fault = { kind, message, since, retry_at: isoTime(now + delayMs) }
    ctx.tx.emit({ nodeId: node.id, type: 'node.fault', data: { fault } })
    return this.engagements.relaunch(ctx, node, { reason: `fault: ${kind}`, delayMs, fault })
  }
}
