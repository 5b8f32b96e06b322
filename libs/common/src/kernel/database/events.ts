import type { NodeEvent } from '../../contract/node.schema.js'
import { type Clock, isoTime, systemClock } from '../clock.js'
import { actorRefOf, type Context } from '../context.js'
import { SvcError } from '../errors.js'
import { newId } from '../ids.js'
import type { NewEvent, Reader, Tx } from './tx.js'

/** An event as it was written: its wire form, and its place in the tree. */
export interface LoggedEvent extends NodeEvent {
  readonly root_id: string
  readonly tree_seq: number
}

export interface EventPage {
  readonly events: readonly LoggedEvent[]
  /** Number of the newest event, read with the page; 0 before the first. */
  readonly head: number
}

export interface EventRow {
  readonly node_id: string | null
  readonly seq: number
  readonly root_id: string
  readonly tree_seq: number
  readonly id: string
  readonly type: string
  readonly time: Date
  readonly actor: LoggedEvent['actor']
  readonly correlation_id: string | null
  readonly causation_id: string | null
  readonly data: Record<string, unknown>
}

export const toEvent = (row: EventRow): LoggedEvent => ({
  id: row.id,
  seq: row.seq,
  type: row.type,
  time: row.time.toISOString(),
  subject: row.node_id as string,
  actor: row.actor,
  correlation_id: row.correlation_id,
  causation_id: row.causation_id,
  data: row.data,
  root_id: row.root_id,
  tree_seq: row.tree_seq,
})

/*
 * Numbers come from the counters, never from JavaScript: their rows stay locked until commit, so that events become
 * visible in the order of their numbers and a rollback leaves no gap. Trees are counted last and in order of their ids.
 * A node without counters makes a number null, which the table refuses. The place in the stream of all events is the
 * number of the transaction, or that of the newest event in one of these trees where a younger transaction was quicker:
 * one place for all of them, so that a node that goes over to another tree takes its order with it.
 */
const WRITE = `
  WITH given AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::json[], $5::text[], $8::text[])
      WITH ORDINALITY AS given(node_id, id, type, data, causation_id, correlation_id, ord)
  ), counted AS (
    UPDATE canvas.counters c SET event_seq = c.event_seq + n.n
      FROM (SELECT node_id, count(*) AS n FROM given GROUP BY node_id) n
     WHERE c.node_id = n.node_id RETURNING c.node_id, c.root_id, c.event_seq - n.n AS base
  ), roots AS (
    SELECT c.root_id, count(*) AS n FROM given g JOIN counted c USING (node_id) GROUP BY c.root_id
  ), locked AS (
    SELECT root_id, last_xid FROM canvas.trees WHERE root_id IN (SELECT root_id FROM roots)
     ORDER BY root_id FOR NO KEY UPDATE
  ), place AS (
    SELECT GREATEST(pg_current_xact_id(), last_xid) AS xid FROM locked ORDER BY last_xid DESC LIMIT 1
  ), tree AS (
    UPDATE canvas.trees t SET event_seq = t.event_seq + r.n, last_xid = p.xid
      FROM place p, roots r JOIN locked l USING (root_id)
     WHERE t.root_id = r.root_id RETURNING t.root_id, t.event_seq - r.n AS base
  )
  INSERT INTO canvas.events (node_id, seq, root_id, tree_seq, id, type, time, actor, correlation_id, causation_id, data, xid)
  SELECT g.node_id, c.base + row_number() OVER (PARTITION BY g.node_id ORDER BY g.ord),
         c.root_id, t.base + row_number() OVER (PARTITION BY c.root_id ORDER BY g.ord),
         g.id, g.type, $6, $7, g.correlation_id, g.causation_id, g.data, p.xid
    FROM given g LEFT JOIN place p ON true LEFT JOIN counted c USING (node_id) LEFT JOIN tree t USING (root_id)
  RETURNING id, seq, root_id, tree_seq`

const page = (counter: string, owner: string, number: string): string => `
  SELECT c.event_seq AS head, e.* FROM ${counter} c
    LEFT JOIN LATERAL (
      SELECT * FROM canvas.events e WHERE e.${owner} = c.${owner} AND e.${number} > $2 ORDER BY e.${number} LIMIT $3
    ) e ON true
   WHERE c.${owner} = $1`
const PAGE = page('canvas.counters', 'node_id', 'seq')
const PAGE_OF_TREE = page('canvas.trees', 'root_id', 'tree_seq')

/** The events of nodes: written by the writer alone, read by anybody. */
export class EventLog {
  readonly #clock: Clock

  constructor(clock: Clock = systemClock) {
    this.#clock = clock
  }

  /** Writes events in one statement, which nobody needs to wait for before COMMIT. */
  async write(tx: Tx, ctx: Context, events: readonly NewEvent[]): Promise<readonly LoggedEvent[]> {
    const time = isoTime(this.#clock.now())
    const actor = actorRefOf(ctx.actor)
    const ids = events.map(() => newId('evt'))
    const rows = await tx.query<Pick<EventRow, 'id' | 'seq' | 'root_id' | 'tree_seq'>>(WRITE, [
      events.map((event) => event.nodeId),
      ids,
      events.map((event) => event.type),
      events.map((event) => JSON.stringify(event.data)),
      events.map((event) => event.causationId ?? null),
      time,
      JSON.stringify(actor),
      events.map((event) => event.correlationId ?? ctx.requestId),
    ])
    const placed = new Map(rows.map((row) => [row.id, row]))
    return events.map((event, at) => {
      const { id, seq, root_id, tree_seq } = placed.get(ids[at] as string) as (typeof rows)[number]
      const causation = event.causationId ?? null
      return {
        id,
        seq,
        type: event.type,
        time,
        subject: event.nodeId,
        actor,
        correlation_id: event.correlationId ?? ctx.requestId,
        causation_id: causation,
        data: { ...event.data },
        root_id,
        tree_seq,
      }
    })
  }

  /**
   * Events of a node after a number, oldest first, at most `limit`.
   *
   * @throws SvcError not_found; cursor_expired with `oldest` when events after the number are no longer kept, or when the
   * number was never given out, as after a restored backup.
   */
  page(reader: Reader, nodeId: string, after: number, limit: number): Promise<EventPage> {
    return this.#read(reader, PAGE, [nodeId, after, limit], (event) => event.seq)
  }

  /** As `page`, of a root and all below it, numbered over the whole tree. */
  pageTree(reader: Reader, rootId: string, after: number, limit: number): Promise<EventPage> {
    return this.#read(reader, PAGE_OF_TREE, [rootId, after, limit], (event) => event.tree_seq)
  }

  async #read(
    reader: Reader,
    text: string,
    values: [string, number, number],
    numberOf: (event: LoggedEvent) => number,
  ): Promise<EventPage> {
    const rows = await reader.query<EventRow & { readonly head: number }>(text, values)
    if (!rows[0]) throw new SvcError('not_found')
    const head = rows[0].head
    const events = rows.filter((row) => row.node_id !== null).map(toEvent)
    const oldest = events[0] ? numberOf(events[0]) : head + 1
    const [, after] = values
    if (after > head || (after < head && oldest !== after + 1)) {
      throw new SvcError('cursor_expired', undefined, { oldest })
    }
    return { events, head }
  }
}
