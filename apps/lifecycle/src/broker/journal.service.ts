import { Inject, Injectable } from '@nestjs/common'
import { z } from 'zod'
import { contract, type InputOf, type JournalEntry, type OutputOf } from '#common/contract/index.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { violatedKey } from '#common/kernel/database/sql-errors.js'
import { type TxContext, Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import { MailRepository } from '../mail/mail.repository.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { type Family, NodeRepository } from '../node/node.repository.js'
import { NodeTransitions } from '../node/node.transition.js'
import { InProgressStore } from './in-progress.store.js'
import { eventsOf } from './journal.events.js'
import { JournalRepository } from './journal.repository.js'
import { TurnEndService } from './turn-end.service.js'

const append = contract['nodes.broker.journal']
const read = contract['nodes.broker.readJournal']
type Answer = OutputOf<typeof append>
type Message = Extract<JournalEntry, { type: 'message' }>

/** As a broker notes it on the parts of a message: which mail each of them is. */
const noted = z.object({ svc: z.object({ mail: z.string() }) })

const mailOf = ({ content }: Message): string[] =>
  content.flatMap((part) => {
    const note = part.type === 'text' ? noted.safeParse(part.provider_metadata) : undefined
    return note?.success ? [note.data.svc.mail] : []
  })

/** Appends to a node's journal, with all that an entry brings about: mail is acknowledged, tools start and end, work ends. */
@Injectable()
export class JournalService {
  constructor(
    private readonly writer: Writer,
    private readonly nodes: NodeRepository,
    private readonly journal: JournalRepository,
    private readonly mail: MailRepository,
    private readonly access: NodeAccess,
    private readonly transitions: NodeTransitions,
    private readonly turnEnds: TurnEndService,
    private readonly inProgress: InProgressStore,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** @throws SvcError stale_generation, journal_conflict */
  append(ctx: Context, input: InputOf<typeof append>): Promise<Answer> {
    const { id, from, entries } = input
    return this.refusing(() =>
      this.writer.transact(ctx, async (within) => {
        const ending = entries.some((entry) => entry.type === 'turn_ended')
        const [family, head] = await Promise.all([
          ending ? this.nodes.lockFamily(within.tx, id) : this.alone(within, id),
          this.journal.lockHead(within.tx, id),
        ])
        this.access.requireHosted(ctx, family.node)
        if (from <= head) return this.repeat(within, family.node, input, head)
        if (from !== head + 1) throw conflict(head)
        const at = new Date(this.clock.now())
        const { generation, engagement } = family.node
        this.journal.append(within.tx, { nodeId: id, from, generation, engagement, entries, at })
        const node = await this.perform(within, family, { entries, at, head })
        within.tx.afterCommit(() => {
          if (entries.some((entry) => entry.type === 'message')) this.inProgress.clear(id)
        })
        return { next_ord: head + entries.length + 1, next: goesOn(node, generation) ? 'continue' : 'stop' }
      }),
    )
  }

  /** Entries that contradict what stands in the rows are a conflict like any other. */
  private async refusing<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write()
    } catch (error) {
      if (violatedKey(error) !== 'tool_calls_pkey') throw error
      throw new SvcError('journal_conflict', 'A tool call of this turn has that call_id already.', {}, { cause: error })
    }
  }

  /** @throws SvcError stale_generation */
  read(ctx: Context, { id, from }: InputOf<typeof read>): Promise<OutputOf<typeof read>> {
    return this.writer.transact(ctx, async ({ tx }) => {
      this.access.requireHosted(ctx, await this.nodes.lock(tx, id))
      const [head, journal] = await Promise.all([this.journal.lockHead(tx, id), this.journal.page(tx, id, from)])
      return { journal, next_ord: head + 1 }
    })
  }

  /** The answer to entries that were written before; their effects took place then. */
  private async repeat(ctx: TxContext, node: NodeRecord, input: InputOf<typeof append>, head: number): Promise<Answer> {
    if (!(await this.journal.holds(ctx.tx, input.id, input.from, input.entries))) throw conflict(head)
    return { next_ord: head + 1, next: goesOn(node, node.generation) ? 'continue' : 'stop' }
  }

  private async alone(ctx: TxContext, id: string): Promise<Family> {
    return { node: await this.nodes.lock(ctx.tx, id), subscribers: [] }
  }

  private async perform(
    ctx: TxContext,
    family: Family,
    { entries, at, head }: { entries: readonly JournalEntry[]; at: Date; head: number },
  ): Promise<NodeRecord> {
    let node = family.node
    for (const entry of entries) {
      requireInOrder(node, entry, head)
      for (const event of eventsOf(entry)) ctx.tx.emit({ nodeId: node.id, ...event })
      switch (entry.type) {
        case 'turn_started':
          if (entry.mail.length > 0) this.mail.accept(ctx.tx, node.id, entry.mail, entry.turn, at)
          node = this.transitions.change(ctx, node, { turn: entry.turn })
          break
        case 'message':
          if (entry.role === 'assistant') node = this.answered(ctx, node, entry.model)
          else this.takeIn(ctx, node, entry, at)
          break
        case 'tool_started':
          this.journal.startTool(ctx.tx, {
            nodeId: node.id,
            turn: entry.turn,
            step: entry.step,
            callId: entry.call_id,
            name: entry.name,
            generation: node.generation,
            at,
          })
          break
        case 'tool_ended':
          this.journal.endTool(ctx.tx, {
            nodeId: node.id,
            turn: entry.turn,
            callId: entry.call_id,
            status: entry.status,
            at,
          })
          break
        case 'compacted':
          break
        case 'turn_ended':
          node = await this.turnEnds.end(ctx, { node, subscribers: family.subscribers }, entry)
          break
      }
    }
    return node
  }

  /** Its model has answered: a fault is over, and which model it really was is shown. */
  private answered(ctx: TxContext, node: NodeRecord, model = node.answered_by): NodeRecord {
    if (node.fault) ctx.tx.emit({ nodeId: node.id, type: 'node.fault_cleared', data: { kind: node.fault.kind } })
    if (!node.fault && model === node.answered_by) return node
    return this.transitions.change(ctx, node, { ...(node.fault && { fault: null }), answered_by: model })
  }

  /** Mail that steered the turn: with this entry it is in the conversation, also when its acknowledgement never comes. */
  private takeIn(ctx: TxContext, node: NodeRecord, entry: Message, at: Date): void {
    const ids = entry.role === 'user' ? mailOf(entry) : []
    if (ids.length > 0) this.mail.accept(ctx.tx, node.id, ids, entry.turn, at)
  }
}

/** Whether the process that appended is still to host the node. */
const goesOn = (node: NodeRecord, generation: number): boolean =>
  node.status === 'active' && node.generation === generation

/**
 * Turns are counted up over the life of a node, since model calls are kept under their number; the other entries belong to
 * the newest. A node that rests or has ended begins none.
 */
const requireInOrder = (node: NodeRecord, entry: JournalEntry, head: number): void => {
  if (entry.type !== 'turn_started') {
    if (entry.turn !== node.turn) throw conflict(head)
    return
  }
  if (node.status !== 'active') {
    throw new SvcError('stale_generation', `The node is ${node.status} and begins no turn.`, { state: node.status })
  }
  if (entry.turn <= node.turn) throw conflict(head)
}

const conflict = (head: number): SvcError => new SvcError('journal_conflict', undefined, { next_ord: head + 1 })
