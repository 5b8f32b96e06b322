import { Inject, Injectable } from '@nestjs/common'
import { contract, type Fault, type InputOf, type JournalEntry, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock, isoTime } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { cursorAfter, pageOf, readCursor } from '#common/kernel/database/cursor.js'
import { Database } from '#common/kernel/database/database.js'
import { type TxContext, Writer, type Written } from '#common/kernel/database/writer.js'
import { Engagements } from '../node/engagement.service.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { type Family, NodeRepository } from '../node/node.repository.js'
import { requireLegal } from '../node/node.rules.js'
import { NodeTransitions } from '../node/node.transition.js'
import { longestHeld, type Recurring, retryDelay, treatmentOf } from '../supervision/fault.policy.js'
import { LaunchQueue } from '../supervision/launch.queue.js'
import { isHeld, unheld } from './fault.hold.js'
import { FaultRepository } from './fault.repository.js'

const record = contract['nodes.faults.record']
const list = contract['nodes.faults.list']
const retry = contract['nodes.retry']

export type TurnFault = NonNullable<Extract<JournalEntry, { type: 'turn_ended' }>['fault']>

/** What becomes of a node that met a fault, and what is shown of it. */
@Injectable()
export class FaultService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly nodes: NodeRepository,
    private readonly faults: FaultRepository,
    private readonly access: NodeAccess,
    private readonly transitions: NodeTransitions,
    private readonly engagements: Engagements,
    private readonly launches: LaunchQueue,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** A turn failed: the node is tried again later, held, or dead, by the kind of the fault. */
  fail(ctx: TxContext, family: Family, given: TurnFault): NodeRecord {
    const { node } = family
    const treatment = treatmentOf(given.kind)
    if (treatment.do === 'ends') {
      return this.engagements.crash(ctx, family, { kind: given.kind, message: given.message })
    }
    const now = this.clock.now()
    const met = this.met(node, given, now)
    const wait =
      treatment.do === 'timed'
        ? retryDelay(given.kind as Recurring, now - Date.parse(met.since), given.retry_after_ms)
        : longestHeld()
    const fault: Fault = {
      ...met,
      ...(treatment.do === 'held' && { held_for: treatment.for }),
      // only a person brings a credential, or gives a grant back: no time says when
      ...(!(treatment.do === 'held' && treatment.for !== 'provider') && { retry_at: isoTime(now + wait) }),
    }
    ctx.tx.emit({ nodeId: node.id, type: 'node.fault', data: { fault } })
    if (needsPerson(fault) && met.tries === 1) this.tell(ctx, family, fault)
    const delayMs = treatment.do === 'timed' ? wait : 0
    return this.engagements.relaunch(ctx, node, { reason: `fault: ${given.kind}`, delayMs, fault })
  }

  /** In the middle of a turn that its broker goes on trying. @throws SvcError stale_generation */
  record(ctx: Context, input: InputOf<typeof record>): Promise<Written<OutputOf<typeof record>>> {
    return this.writer.once(ctx, { operation: record.name, input }, async (within) => {
      const node = await this.nodes.lock(within.tx, input.id)
      this.access.requireHosted(ctx, node)
      // told late: the turn that it was about has ended
      if (node.status !== 'active' || node.turn !== input.turn) return { noted: false }
      const now = this.clock.now()
      const met = this.met(node, input, now)
      const { retry_after_ms: after } = input
      const fault: Fault = { ...met, ...(after !== undefined && { retry_at: isoTime(now + after) }) }
      within.tx.emit({ nodeId: node.id, type: 'node.fault', data: { fault } })
      this.transitions.change(within, node, { fault })
      return { noted: true }
    })
  }

  /** Now, whatever it waits for. @throws SvcError not_found, illegal_transition */
  retry(ctx: Context, input: InputOf<typeof retry>): Promise<Written<OutputOf<typeof retry>>> {
    return this.writer.once(ctx, { operation: retry.name, input }, async (within) => {
      const node = await this.nodes.lock(within.tx, input.id)
      await this.access.requireOwn(ctx, within.tx, node)
      requireLegal(node.status, 'retry')
      const later = node.next_launch_at !== null && node.next_launch_at.getTime() > this.clock.now()
      if (node.broker_state !== 'launching' || !(later || isHeld(node))) return { retried: false }
      this.launch(within, node, 'it was asked for')
      return { retried: true }
    })
  }

  /** Launches a node that is held or backed off. Its fault stays until it is answered. */
  launch(ctx: TxContext, node: NodeRecord, reason: string): void {
    this.transitions.change(ctx, node, {
      next_launch_at: null,
      launches: [],
      ...(node.fault && { fault: unheld(node.fault) }),
    })
    ctx.tx.emit({
      nodeId: node.id,
      type: 'node.launching',
      data: { generation: node.generation, reason, not_before: null },
    })
    ctx.tx.afterCommit(() => this.launches.add(node.id))
  }

  async list(ctx: Context, input: InputOf<typeof list>): Promise<OutputOf<typeof list>> {
    await this.access.requireReadable(ctx, this.database, await this.nodes.get(this.database, input.id))
    const rows = await this.faults.page(this.database, input.id, readCursor(input.after), input.limit + 1)
    const page = pageOf(rows, input.limit, ({ since, ord }) => cursorAfter(new Date(since), String(ord)))
    return { ...page, data: page.data.map(({ ord: _, ...episode }) => episode) }
  }

  /** The fault as of this failure: one more of the same kind in a row, or the first of its own. */
  private met(node: NodeRecord, { kind, message }: Pick<Fault, 'kind' | 'message'>, now: number): MetFault {
    const same = node.fault?.kind === kind ? node.fault : undefined
    const last_at = isoTime(now)
    return { kind, message, since: same?.since ?? last_at, last_at, tries: (same ? (same.tries ?? 1) : 0) + 1 }
  }

  /** Who waits for the node hears once that it can't go on without a person. */
  private tell(ctx: TxContext, { node, subscribers }: Family, fault: Fault): void {
    for (const { node: subscriber, mode } of subscribers) {
      if (subscriber.status === 'canceled') continue
      this.engagements.hand(ctx, subscriber, {
        tier: mode === 'active' ? 'urgent' : 'deferred',
        kind: 'notice',
        body: `${node.name} (${node.id}) can't go on before a person has seen to ${wanting(fault)}: ${fault.message}`,
        source: { kind: 'node', id: node.id, name: node.name },
        reopens: false,
      })
    }
  }
}

const needsPerson = ({ held_for }: Fault): boolean => held_for === 'credential' || held_for === 'grant'

const wanting = ({ held_for }: Fault): string =>
  held_for === 'grant' ? 'the grant of its app' : 'its model credential'

type MetFault = Fault & { readonly tries: number }
