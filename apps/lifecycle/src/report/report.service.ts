import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, nodeLimits, type OutputOf, type Report } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import { readAttachments } from '../attachment/attachment.content.js'
import { AttachmentRepository, type KeptAttachment } from '../attachment/attachment.repository.js'
import { MailRepository } from '../mail/mail.repository.js'
import { requireMailRoom } from '../mail/mail.room.js'
import { Engagements } from '../node/engagement.service.js'
import { NodeAccess } from '../node/node.access.js'
import { type Family, NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { OutcomeService } from '../node/outcome.service.js'
import { SchemaChecker } from '../node/schema.checker.js'
import { ReportRepository } from './report.repository.js'

const push = contract['nodes.reports.push']
const list = contract['nodes.reports.list']
const submit = contract['nodes.result.submit']

/** What a node says of its work: reports on the way, a final one that ends it, a typed result. */
@Injectable()
export class ReportService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly reports: ReportRepository,
    private readonly mail: MailRepository,
    private readonly attachments: AttachmentRepository,
    private readonly schemas: SchemaChecker,
    private readonly access: NodeAccess,
    private readonly engagements: Engagements,
    private readonly outcomes: OutcomeService,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** A node's own report. @throws SvcError already_finalized, illegal_transition */
  async push(ctx: Context, input: InputOf<typeof push>): Promise<Written<Report>> {
    const read = readAttachments(input.attachments)
    return this.writer.once(ctx, { operation: push.name, input }, async (within) => {
      const family = await this.nodes.lockFamily(within.tx, input.id)
      if (family.node.id !== ctx.actor.nodeId) throw new SvcError('node_token_required')
      if (input.kind === 'final') {
        if (await this.reports.final(within.tx, input.id, family.node.engagement))
          throw new SvcError('already_finalized')
        await this.requireResult(within, family)
      } else await this.requireRoom(within, family)
      const attachments = this.attachments.keep(within.tx, read)
      return this.record(within, family, { ...input, attachments })
    })
  }

  /** Writes a report and tells the subscribers; a final one ends the piece of work if it is still open. */
  record(
    ctx: TxContext,
    family: Family,
    input: { kind: Report['kind']; body: string; attachments?: readonly KeptAttachment[] },
    how: { replaced?: true } = {},
  ): Report {
    const { node } = family
    const open = node.status === 'active' || node.status === 'idle'
    const late = input.kind === 'final' && node.status === 'done'
    if (!late) requireLegal(node.status, 'report')
    const { attachments = [] } = input
    const report = this.reports.insert(ctx.tx, {
      nodeId: node.id,
      engagement: node.engagement,
      kind: input.kind,
      body: input.body,
      attachments: this.attachments.attach(ctx.tx, node.id, attachments),
      at: new Date(this.clock.now()),
    })
    ctx.tx.emit({
      nodeId: node.id,
      type: 'report.pushed',
      data: {
        report_id: report.id,
        kind: report.kind,
        body: report.body,
        engagement: report.engagement,
        ...(report.attachments.length > 0 && { attachments: report.attachments }),
      },
    })
    if (input.kind === 'final' && open) this.engagements.finalize(ctx, node, how)
    this.engagements.notify(ctx, family, {
      tier: input.kind === 'update' ? 'normal' : 'urgent',
      kind: 'report',
      body: input.body,
      attachments,
      event: 'child.reported',
      data: { report_id: report.id, kind: report.kind },
    })
    return report
  }

  /** The typed result: exactly once, and immutable. @throws SvcError result_already_submitted, result_schema_mismatch */
  async submit(ctx: Context, input: InputOf<typeof submit>): Promise<Written<OutputOf<typeof submit>>> {
    const mismatch = await this.mismatchOf(ctx, input)
    return this.writer.once(ctx, { operation: submit.name, input }, async (within) => {
      const family = await this.nodes.lockFamily(within.tx, input.id)
      const { node } = family
      await this.access.requireOwn(ctx, within.tx, node)
      if (await this.reports.result(within.tx, node.id, node.engagement)) throw new SvcError('result_already_submitted')
      requireLegal(node.status, 'submit')
      if (mismatch) throw mismatch
      const at = new Date(this.clock.now())
      await this.reports.insertResult(within.tx, {
        nodeId: node.id,
        engagement: node.engagement,
        value: input.value,
        at,
      })
      within.tx.emit({
        nodeId: node.id,
        type: 'result.submitted',
        data: { value: input.value, engagement: node.engagement },
      })
      const done = this.engagements.finalize(within, node)
      this.engagements.notify(within, family, {
        tier: 'urgent',
        kind: 'report',
        body: `Result: ${JSON.stringify(input.value)}`,
        event: 'child.ended',
        data: { status: 'done' },
      })
      return this.outcomes.assemble(within.tx, done)
    })
  }

  /** How the value misses the node's schema, which never changes: asked before the node is locked. */
  private async mismatchOf(ctx: Context, { id, value }: InputOf<typeof submit>): Promise<SvcError | undefined> {
    const text = JSON.stringify(value)
    if (text === undefined) {
      throw new SvcError('validation_failed', undefined, { errors: [{ pointer: '/value', message: 'is required' }] })
    }
    if (Buffer.byteLength(text) > nodeLimits.resultBytes) {
      throw new SvcError('payload_too_large', undefined, { limit: nodeLimits.resultBytes })
    }
    const node = await this.nodes.get(this.database, id)
    await this.access.requireOwn(ctx, this.database, node)
    if (!node.result_schema) return undefined
    try {
      await this.schemas.requireFit(node.result_schema, value)
      return undefined
    } catch (error) {
      if (hasCode(error, 'result_schema_mismatch')) return error
      throw error
    }
  }

  async list(ctx: Context, input: InputOf<typeof list>): Promise<OutputOf<typeof list>> {
    await this.access.requireReadable(ctx, this.database, await this.nodes.get(this.database, input.id))
    const rows = await this.reports.page(this.database, input.id, readCursor(input.after), input.limit + 1)
    return pageOf(rows, input.limit, (report) => cursorAfter(new Date(report.created_at), report.id))
  }

  /** News on the way must not fill a box that nobody empties; a final report is taken all the same. */
  private async requireRoom(ctx: TxContext, { subscribers }: Family): Promise<void> {
    const unread = await this.mail.fullest(
      ctx.tx,
      subscribers.map(({ node }) => node.id),
    )
    requireMailRoom({ unread })
  }

  /** A node that owes a typed result can't end by words alone. */
  private async requireResult(ctx: TxContext, { node }: Family): Promise<void> {
    if (node.result_schema && !(await this.reports.result(ctx.tx, node.id, node.engagement))) {
      const why = 'This node owes a result that fits its result_schema: submit it, and the work ends with it.'
      throw new SvcError('illegal_transition', why, { state: node.status, event: 'finalize' })
    }
  }
}
