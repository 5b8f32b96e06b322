import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type JournalEntry, type Node } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { JournalRepository } from '../broker/journal.repository.js'
import { MailRepository } from '../mail/mail.repository.js'
import { Engagements } from '../node/engagement.service.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { NodeService } from '../node/node.service.js'
import { NodeTransitions } from '../node/node.transition.js'
import { treatmentOf } from '../supervision/fault.policy.js'
import { ContextRepository } from './context.repository.js'

const operation = contract['nodes.yield']
type TurnEnded = Extract<JournalEntry, { type: 'turn_ended' }>

/**
 * Fresh contexts of nodes. What is asked for stands in the row (`intent` refresh): whatever launches the node next begins
 * it, so that no restart of this service can lose it.
 */
@Injectable()
export class ContextService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly contexts: ContextRepository,
    private readonly journal: JournalRepository,
    private readonly mail: MailRepository,
    private readonly access: NodeAccess,
    private readonly transitions: NodeTransitions,
    private readonly engagements: Engagements,
    private readonly views: NodeService,
    @Inject(SETTINGS) private readonly settings: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /** @throws SvcError not_found, illegal_transition, validation_failed (a program) */
  yield(ctx: Context, input: InputOf<typeof operation>): Promise<Written<Node>> {
    return this.writer.once(ctx, { operation: operation.name, input }, async (within) => {
      const node = await this.nodes.lock(within.tx, input.id)
      await this.access.requireOwn(ctx, within.tx, node)
      requireLegal(node.status, 'yield')
      requireConversation(node)
      return this.views.show(await this.ask(within, node, input.note))
    })
  }

  /** Owes the node a fresh context, and begins it unless a turn runs or the node rests. */
  async ask(ctx: TxContext, node: NodeRecord, note: string | null): Promise<NodeRecord> {
    const asked = this.transitions.move(ctx, node, 'yield', { yield_note: note })
    ctx.tx.emit({ nodeId: node.id, type: 'node.yielded', data: { note, context: node.context } })
    if (asked.status !== 'active' || (await this.isInTurn(ctx, asked))) return asked
    const delayMs = Math.max(0, (asked.next_launch_at?.getTime() ?? 0) - this.clock.now())
    return this.engagements.relaunch(ctx, asked, { reason: 'a fresh context begins', delayMs, fault: asked.fault })
  }

  /**
   * The turn of a node that owes a fresh context has ended. Undefined where its fault is to be dealt with first; what is
   * launched after that begins the context.
   */
  async turnEnded(ctx: TxContext, node: NodeRecord, entry: TurnEnded): Promise<NodeRecord | undefined> {
    if (entry.status === 'failed' && treatmentOf(entry.fault?.kind ?? 'other').do !== 'ends') return undefined
    if (entry.status === 'interrupted' && (await this.mail.waiting(ctx.tx, node.id)).waking === 0) {
      // whoever interrupts wants it to stop: it owes its fresh context until it is woken
      return this.transitions.move(ctx, this.engagements.release(ctx, node), 'yield')
    }
    return this.engagements.relaunch(ctx, node, { reason: 'a fresh context begins', delayMs: 0, turnEnded: true })
  }

  /** Nodes whose turn doesn't end although they asked for a fresh context: their process is replaced. */
  async reconcile(): Promise<void> {
    for (const id of await this.contexts.overdue(this.database, this.overdueBefore())) {
      try {
        await this.writer.transact(systemContext('lifecycle'), (ctx) => this.replace(ctx, id))
      } catch (err) {
        if (hasCode(err, 'not_leader')) throw err
        this.log.error({ err, node_id: id }, 'a fresh context could not be begun; trying again')
      }
    }
  }

  private async replace(ctx: TxContext, id: string): Promise<void> {
    const node = await this.nodes.lock(ctx.tx, id)
    const overdue = node.refresh_asked_at && node.refresh_asked_at < this.overdueBefore()
    if (node.status !== 'active' || !overdue) return
    const delayMs = Math.max(0, (node.next_launch_at?.getTime() ?? 0) - this.clock.now())
    const reason = `its turn did not end within ${this.settings.SVC_REFRESH_MS / 1000} s after it asked for a fresh context`
    this.engagements.relaunch(ctx, node, { reason, delayMs, fault: node.fault })
  }

  private overdueBefore(): Date {
    return new Date(this.clock.now() - this.settings.SVC_REFRESH_MS)
  }

  /** Whether a turn of the present context is open. One that a context left open is ended when the next one begins. */
  private async isInTurn(ctx: TxContext, node: NodeRecord): Promise<boolean> {
    if (!(await this.journal.hasOpenTurn(ctx.tx, node.id))) return false
    return !(await this.contexts.hasUnreadKickoff(ctx.tx, node.id))
  }
}

/** @throws SvcError validation_failed */
export const requireConversation = ({ engine }: NodeRecord): void => {
  if (engine !== 'exec') return
  throw new SvcError('validation_failed', 'A program has no conversation that could be begun anew or copied.', {
    errors: [{ pointer: '/id', message: 'is a node of the engine exec' }],
    remedy: 'Revive it, or create another node with the same program.',
  })
}
