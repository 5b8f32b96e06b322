import { Inject, Injectable } from '@nestjs/common'
import type { JournalEntry } from '#common/contract/broker.schema.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { TxContext } from '#common/kernel/database/writer.js'
import { eventsOf } from '../broker/journal.events.js'
import { JournalRepository } from '../broker/journal.repository.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'
import { NodeTransitions } from '../node/node.transition.js'
import { RoadmapRepository } from '../roadmap/roadmap.repository.js'
import { ContextRepository } from './context.repository.js'
import { kickoffText } from './kickoff.text.js'

/** Reports that a kickoff shows. */
const reportsShown = 3

const unseen = 'The context that made this call was closed before its end was seen. How far it came is not known.'

/**
 * Writes what a fresh context begins with, when its process binds: no older process of the node writes any more, and what
 * is told is of that moment. Done once: the first process that binds finds the kickoff without a text, later ones with.
 */
@Injectable()
export class Kickoffs {
  constructor(
    private readonly contexts: ContextRepository,
    private readonly nodes: NodeRepository,
    private readonly journal: JournalRepository,
    private readonly roadmaps: RoadmapRepository,
    private readonly transitions: NodeTransitions,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** The node as it is now, with its context begun if one was owed. The node is locked, and its generation is the newest. */
  async write(ctx: TxContext, node: NodeRecord): Promise<NodeRecord> {
    if (node.context === 1 && node.succeeds === null) return node
    const mailId = await this.contexts.unwrittenKickoff(ctx.tx, node.id)
    if (mailId === undefined) return node
    const { head, unfinished } = await this.closeContext(ctx, node)
    const [mandate, roadmap, reports, children, jobs, predecessor] = await Promise.all([
      this.contexts.mandate(ctx.tx, node.id, node.engagement),
      this.roadmaps.find(ctx.tx, node.id),
      this.contexts.reports(ctx.tx, node.context === 1 ? (node.succeeds ?? node.id) : node.id, reportsShown),
      this.contexts.liveChildren(ctx.tx, node.id),
      this.contexts.liveJobs(ctx.tx, node.id),
      node.succeeds === null ? undefined : this.nodes.find(ctx.tx, node.succeeds),
    ])
    const taken = unfinished ? await this.contexts.taken(ctx.tx, node.id, unfinished.turn) : []
    const given = taken.filter(({ body }) => !mandate.some((task) => task.body === body))
    const text = kickoffText({
      node,
      mandate,
      predecessor,
      roadmap: roadmap?.text,
      reports,
      children,
      jobs,
      ...(unfinished && { unfinished: { ...unfinished, mail: given } }),
    })
    this.contexts.writeKickoff(ctx.tx, mailId, text)
    return this.transitions.change(ctx, node, { context_from: head + 1 })
  }

  /** Ends what the context before left open, so that nothing in the record is without an end. */
  private async closeContext(ctx: TxContext, { id, generation, engagement }: NodeRecord) {
    const head = await this.journal.lockHead(ctx.tx, id)
    const [open, unfinished] = await Promise.all([
      this.journal.openCalls(ctx.tx, id),
      this.contexts.unfinishedTurn(ctx.tx, id),
    ])
    if (unfinished?.how !== 'open') return { head, unfinished }
    const { turn } = unfinished
    const at = new Date(this.clock.now())
    const calls = open.map(
      (call): Extract<JournalEntry, { type: 'tool_ended' }> => ({
        type: 'tool_ended',
        ...call,
        status: 'outcome_unknown',
        output: unseen,
        exit_code: null,
      }),
    )
    const entries: JournalEntry[] = [...calls, { type: 'turn_ended', turn, status: 'interrupted' }]
    this.journal.append(ctx.tx, { nodeId: id, from: head + 1, generation, engagement, entries, at })
    for (const { turn, call_id: callId } of calls) {
      this.journal.endTool(ctx.tx, { nodeId: id, turn, callId, status: 'outcome_unknown', at })
    }
    for (const event of entries.flatMap(eventsOf)) ctx.tx.emit({ nodeId: id, ...event })
    return { head: head + entries.length, unfinished }
  }
}
