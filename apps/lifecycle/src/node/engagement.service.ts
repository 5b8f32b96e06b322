import { Inject, Injectable } from '@nestjs/common'
import type { MailEntry } from '#common/contract/broker.schema.js'
import type { Fault, MessageTier } from '#common/contract/node.schema.js'
import { CLOCK, type Clock, isoTime } from '#common/kernel/clock.js'
import type { TxContext } from '#common/kernel/database/writer.js'
import { AttachmentRepository, type KeptAttachment } from '../attachment/attachment.repository.js'
import { InProgressStore } from '../broker/in-progress.store.js'
import { SignalHub } from '../broker/signal.hub.js'
import { ContextStart } from '../context/context.start.js'
import { isHeld, unheld } from '../fault/fault.hold.js'
import { JobQueue } from '../job/job.queue.js'
import { MailRepository } from '../mail/mail.repository.js'
import { LaunchQueue } from '../supervision/launch.queue.js'
import type { NodeRecord } from './node.record.js'
import type { Family } from './node.repository.js'
import { NodeTransitions } from './node.transition.js'
import { nodeEnded } from './node-end.message.js'
import { Waiters } from './waiters.js'

export interface Notice {
  readonly tier: MessageTier
  readonly kind: MailEntry['kind']
  readonly body: string
  readonly attachments?: readonly KeptAttachment[]
  readonly event: 'child.reported' | 'child.ended'
  readonly data: Readonly<Record<string, unknown>>
}

/** Fields of the next launch of a node; its process is started after commit. */
const launch = (node: NodeRecord, at: Date | null): Partial<NodeRecord> => ({
  generation: node.generation + 1,
  cycles: node.cycles + 1,
  broker_state: 'launching',
  broker_host_id: null,
  broker_pid: null,
  broker_started_at: null,
  broker_bound_at: null,
  next_launch_at: at,
})

/**
 * How a node's work begins, pauses and ends, for everything that leads there. The order is a law: status first, then
 * the process, then the notices; the status, its event and the notices are one transaction, the process follows after
 * commit.
 */
@Injectable()
export class Engagements {
  constructor(
    private readonly transitions: NodeTransitions,
    private readonly mail: MailRepository,
    private readonly attachments: AttachmentRepository,
    private readonly launches: LaunchQueue,
    private readonly signals: SignalHub,
    private readonly waiters: Waiters,
    private readonly inProgress: InProgressStore,
    private readonly jobs: JobQueue,
    private readonly contexts: ContextStart,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * Puts a mail into a node's box and wakes it for anything but a deferred one: a dormant node always, an ended one only
   * when the mail may reopen its work.
   */
  hand(
    ctx: TxContext,
    node: NodeRecord,
    mail: {
      tier: MessageTier
      kind: MailEntry['kind']
      body: string
      source: MailEntry['source']
      reopens: boolean
      attachments?: readonly KeptAttachment[]
    },
  ): { node: NodeRecord; messageId: string; delivered: 'live' | 'queued' | 'revived' } {
    const ended = node.status === 'done' || node.status === 'dead'
    const wakes = mail.tier !== 'deferred' && hasPlace(node) && (node.status === 'idle' || (ended && mail.reopens))
    const engagement = wakes && ended ? node.engagement + 1 : node.engagement
    const { tier, kind, body, source } = mail
    const at = new Date(this.clock.now())
    const attachments = this.attachments.attach(ctx.tx, node.id, mail.attachments ?? [])
    const messageId = this.mail.append(ctx.tx, {
      tier,
      kind,
      body,
      source,
      nodeId: node.id,
      engagement,
      at,
      attachments,
      traceparent: ctx.traceparent ?? null,
    })
    ctx.tx.emit({
      nodeId: node.id,
      type: 'message.accepted',
      correlationId: ctx.requestId,
      data: {
        message_id: messageId,
        tier: mail.tier,
        kind: mail.kind,
        source: mail.source,
        body: preview(mail.body),
        ...(attachments.length > 0 && { attachments }),
      },
    })
    if (wakes) {
      if (node.waiting_since) {
        ctx.tx.emit({
          nodeId: node.id,
          type: 'node.woken',
          correlationId: ctx.requestId,
          data: { by: kind, message_id: messageId },
        })
      }
      const revived = this.revive(ctx, node, engagement)
      return { node: revived, messageId, delivered: 'revived' }
    }
    if (node.status === 'active') this.signalMail(ctx, node, mail.tier)
    return { node, messageId, delivered: node.status === 'active' && node.broker_state === 'bound' ? 'live' : 'queued' }
  }

  /** Brings a node back to `active` and has it launched; with a fresh context when that is asked for, or was before. */
  revive(ctx: TxContext, node: NodeRecord, engagement: number, fresh = node.intent === 'refresh'): NodeRecord {
    const cut = node.status !== 'idle' && node.status !== 'done'
    const revived = this.transitions.move(ctx, node, 'revive', {
      ...launch(node, null),
      ...(fresh && this.contexts.begin(ctx, node, engagement, cut)),
      engagement,
      fault: null,
      launches: [],
    })
    ctx.tx.emit({
      nodeId: node.id,
      type: 'node.revived',
      correlationId: ctx.requestId,
      data: { generation: revived.generation, engagement },
    })
    ctx.tx.afterCommit(() => {
      this.inProgress.close(node.id)
      this.launches.add(node.id)
      this.waiters.wake(node.id)
    })
    return revived
  }

  /**
   * A message that came while the node said its last is new work for it, as one is that comes afterwards: it would lie
   * unread otherwise, though it was accepted. Asked when the last turn is on record, or the process is gone.
   */
  async reopen(ctx: TxContext, node: NodeRecord): Promise<NodeRecord> {
    if (node.status !== 'done' || !hasPlace(node) || !(await this.mail.reopens(ctx.tx, node.id))) return node
    return this.revive(ctx, node, node.engagement + 1)
  }

  /**
   * A new process for a node that owes work: after a loss, to try again after a provider's fault, or with a fresh context
   * that it asked for; with a fault that holds it, as soon as what it is held for is there. `turnEnded`: the process before
   * it has recorded all that it asked of the model.
   */
  relaunch(
    ctx: TxContext,
    node: NodeRecord,
    why: { reason: string; delayMs: number; losses?: readonly number[]; fault?: Fault | null; turnEnded?: boolean },
    fresh = node.intent === 'refresh',
  ): NodeRecord {
    const at = why.delayMs > 0 ? new Date(this.clock.now() + why.delayMs) : null
    const fault = why.fault === undefined ? node.fault && unheld(node.fault) : why.fault
    const next = this.transitions.move(ctx, node, 'revive', {
      ...launch(node, at),
      ...(fresh && this.contexts.begin(ctx, node, node.engagement, !why.turnEnded)),
      ...(why.losses && { launches: why.losses.map((ms) => new Date(ms)) }),
      fault,
    })
    ctx.tx.emit({
      nodeId: node.id,
      type: 'node.launching',
      data: {
        generation: next.generation,
        reason: why.reason,
        not_before: at?.toISOString() ?? null,
        ...(fault?.held_for && { held_for: fault.held_for }),
      },
    })
    ctx.tx.afterCommit(() => {
      this.inProgress.close(node.id)
      if (isHeld(next)) return
      if (at === null) this.launches.add(node.id)
      else this.clock.after(why.delayMs, () => this.launches.add(node.id))
    })
    return next
  }

  /** A resident, or a node that waits: no process until the next mail. */
  release(ctx: TxContext, node: NodeRecord): NodeRecord {
    const idle = this.transitions.move(ctx, node, 'release')
    ctx.tx.emit({ nodeId: node.id, type: 'node.idle', data: { intent: idle.intent } })
    this.settle(ctx, node.id)
    return idle
  }

  /** @param how `replaced`: another root goes on with what it planned, of which its own word tells */
  finalize(ctx: TxContext, node: NodeRecord, how: { replaced?: true } = {}): NodeRecord {
    const done = this.transitions.move(ctx, node, 'finalize', { fault: null })
    ctx.tx.emit({ nodeId: node.id, type: 'node.done', data: { engagement: done.engagement } })
    if (!how.replaced) for (const message of nodeEnded(done, 'finalized')) ctx.tx.deliver(message)
    this.settle(ctx, node.id)
    return done
  }

  /** The node ends as a fault; those who watch it hear why. */
  crash(ctx: TxContext, family: Family, fault: Omit<Fault, 'since'>): NodeRecord {
    const { node } = family
    const since = isoTime(this.clock.now())
    const dead = this.transitions.move(ctx, node, 'crash', { fault: { ...fault, since } })
    ctx.tx.emit({
      nodeId: node.id,
      type: 'node.dead',
      data: { fault: { ...fault, since }, engagement: dead.engagement },
    })
    this.notify(ctx, family, {
      tier: 'urgent',
      kind: 'notice',
      body: `${node.name} (${node.id}) ended as dead: ${fault.message}`,
      event: 'child.ended',
      data: { status: 'dead', fault },
    })
    this.settle(ctx, node.id)
    ctx.tx.afterCommit(() => this.launches.stop(node.id, node.generation))
    return dead
  }

  cancel(ctx: TxContext, family: Family): NodeRecord {
    const { node } = family
    const canceled = this.transitions.move(ctx, node, 'cancel', { fault: null })
    ctx.tx.emit({ nodeId: node.id, type: 'node.canceled', data: { engagement: canceled.engagement } })
    for (const message of nodeEnded(canceled, 'canceled')) ctx.tx.deliver(message)
    this.notify(ctx, family, {
      tier: 'urgent',
      kind: 'notice',
      body: `${node.name} (${node.id}) was canceled.`,
      event: 'child.ended',
      data: { status: 'canceled' },
    })
    this.settle(ctx, node.id)
    ctx.tx.afterCommit(() => {
      this.signals.send(node.id, { type: 'stop', reason: 'canceled' })
      this.launches.stop(node.id, node.generation)
      this.jobs.endAll(node.id)
    })
    return canceled
  }

  /**
   * Tells each subscriber: active ones that rest are woken, passive ones find it before their next message. Work that has
   * ended is not reopened by what becomes of a child: whoever asked for it has its outcome.
   */
  notify(ctx: TxContext, family: Family, notice: Notice): void {
    const { node } = family
    for (const { node: subscriber, mode } of family.subscribers) {
      if (subscriber.status === 'canceled') continue
      ctx.tx.emit({
        nodeId: subscriber.id,
        type: notice.event,
        data: { ...notice.data, node_id: node.id, name: node.name },
      })
      this.hand(ctx, subscriber, {
        tier: mode === 'active' ? notice.tier : 'deferred',
        kind: notice.kind,
        body: notice.body,
        source: { kind: 'node', id: node.id, name: node.name },
        reopens: false,
        ...(notice.attachments && { attachments: notice.attachments }),
      })
    }
  }

  private settle(ctx: TxContext, nodeId: string): void {
    ctx.tx.afterCommit(() => {
      this.inProgress.close(nodeId)
      this.waiters.wake(nodeId)
    })
  }

  private signalMail(ctx: TxContext, node: NodeRecord, tier: MessageTier): void {
    if (tier === 'deferred') return
    const critical = tier === 'critical'
    ctx.tx.afterCommit(() =>
      this.signals.send(node.id, { type: 'mail', urgent: critical || tier === 'urgent', critical }),
    )
  }
}

/** A node whose own worktree was removed can't be launched: its mail waits. */
const hasPlace = ({ worktree }: NodeRecord): boolean =>
  worktree === null || ['creating', 'open'].includes(worktree.state)

/** Events carry the beginning of a text; the whole stands in the mail. */
const preview = (text: string): string => (text.length > 2000 ? `${text.slice(0, 2000)}…` : text)
