import type { Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { Writer } from '#common/kernel/database/writer.js'
import type { Wake } from '../delivery/wake.js'
import type { Expansion } from '../publish/expansion.js'
import type { LockedSource, NewSourceEvent, PublicationRepository } from '../publish/publication.repository.js'
import type { SpreadEvent, SpreadRepository } from '../publish/spread.repository.js'
import type { FollowRepository } from './follow.repository.js'
import type { NodeEvent } from './node.event.js'
import { type NodePassages, passagesOf } from './node.passages.js'

/** `overtaken`: somebody else has moved the position. `held`: not now, until the fan-out is through with a source. */
export type WriteOutcome = 'written' | 'overtaken' | 'held'

/** Writes events of nodes down as what their watchers are told, with how far they have been read. */
export class NodePublications {
  constructor(
    private readonly writer: Writer,
    private readonly follow: FollowRepository,
    private readonly passages: NodePassages,
    private readonly publications: PublicationRepository,
    private readonly expansion: Expansion,
    private readonly deliveries: SpreadRepository,
    private readonly wake: Wake,
    private readonly clock: Clock,
  ) {}

  /**
   * All of it, or nothing. An event has the number that it has at its node: one that was written before, as after a position
   * that was lost, is not written again. Who watches a root goes over to its successor between the last event of the one and
   * the first of the other.
   */
  write(from: string | null, events: readonly NodeEvent[], to: string): Promise<WriteOutcome> {
    return this.writer.transact(systemContext('objects'), async ({ tx }) => {
      if ((await this.follow.lock(tx)) !== from) return 'overtaken'
      const passages = passagesOf(events)
      if (!(await this.passages.lock(tx, passages, subjectsOf(events)))) return 'held'
      this.follow.move(tx, to)
      // what these have done must be with all who watch them before those go
      const leaving = new Set(passages.map(({ root }) => root))
      let written = 0
      for (const passage of passages) {
        await this.#publish(tx, events.slice(written, passage.at + 1), leaving)
        await this.passages.go(tx, passage)
        written = passage.at + 1
      }
      await this.#publish(tx, events.slice(written), leaving)
      return 'written'
    })
  }

  /** Nobody watches a node any more: whoever does next begins with what happens then. */
  forget(from: string): Promise<void> {
    return this.writer.transact(systemContext('objects'), async ({ tx }) => {
      if ((await this.follow.lock(tx)) !== from) return
      if ((await this.follow.watchedSince(tx)) === undefined) this.follow.move(tx, null)
    })
  }

  /** @param atOnce sources whose events are left to no fan-out */
  async #publish(tx: Tx, events: readonly NodeEvent[], atOnce: ReadonlySet<string>): Promise<void> {
    if (events.length === 0) return
    const sources = await this.publications.lock(tx, subjectsOf(events))
    const watched = new Map(sources.filter(({ watchers }) => watchers > 0).map((source) => [source.id, source]))
    const fresh = events.filter(({ subject, seq }) => seq > (watched.get(subject)?.event_seq ?? Infinity))
    if (fresh.length === 0) return
    for (const event of fresh) this.publications.add(tx, [rowOf(event)], new Date(event.time))
    const oldest = new Date(Math.min(...fresh.map(({ time }) => Date.parse(time))))
    const young = await this.follow.youngSources(tx, [...watched.keys()], oldest)
    // what stands behind a fan-out keeps its place there
    const exact = (id: string): boolean => (atOnce.has(id) || young.has(id)) && watched.get(id)?.fanning === false
    const now = new Date(this.clock.now())
    const rest = [...watched.values()].filter(({ id }) => !exact(id))
    this.expansion.spread(tx, rest, spreadOf(fresh, rest), now)
    await this.#spreadSince(
      tx,
      fresh.filter(({ subject }) => exact(subject)),
      now,
    )
  }

  /** Each event to those who watched its node already when it happened. */
  async #spreadSince(tx: Tx, events: readonly NodeEvent[], now: Date): Promise<void> {
    if (events.length === 0) return
    const watches = await this.follow.watches(tx, subjectsOf(events))
    const watchesOf = Map.groupBy(watches, ({ source_id }) => source_id)
    for (const event of events) {
      const then = new Date(event.time)
      const watchers = (watchesOf.get(event.subject) ?? []).filter(({ created_at }) => created_at <= then)
      if (watchers.length === 0) continue
      const told = await this.deliveries.deliver(
        tx,
        [spreadEventOf(event)],
        now,
        watchers.map(({ watcher_id }) => watcher_id),
      )
      tx.afterCommit(() => this.wake.tell(told))
    }
  }
}

const subjectsOf = (events: readonly NodeEvent[]): string[] => [...new Set(events.map(({ subject }) => subject))]

const spreadEventOf = ({ subject, seq, type }: NodeEvent): SpreadEvent => ({ source_id: subject, seq, event: type })

const spreadOf = (events: readonly NodeEvent[], sources: readonly LockedSource[]): SpreadEvent[] => {
  const ids = new Set(sources.map(({ id }) => id))
  return events.filter(({ subject }) => ids.has(subject)).map(spreadEventOf)
}

const rowOf = ({ subject, seq, id, type, data, actor, correlation_id }: NodeEvent): NewSourceEvent => ({
  source_id: subject,
  seq,
  event_id: id,
  event: type,
  payload: JSON.stringify(data),
  published_by: JSON.stringify(actor),
  request_id: correlation_id,
  traceparent: null,
})
