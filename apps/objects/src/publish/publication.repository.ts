import type { Tx } from '#common/kernel/database/tx.js'

/** A source that a transaction holds locked: until commit nobody else numbers its events or changes who watches it. */
export interface LockedSource {
  readonly id: string
  /** Number of its last event. */
  readonly event_seq: number
  /** How many watch it. */
  readonly watchers: number
  /** Whether events of it wait for their fan-out, behind which later ones queue. */
  readonly fanning: boolean
}

/** A row of objects.events, to be written. */
export interface NewSourceEvent {
  readonly source_id: string
  readonly seq: number
  /** Of a node's event, its own; an object's follows from its place. */
  readonly event_id: string | null
  readonly event: string
  /** JSON text. */
  readonly payload: string
  /** JSON text of an actor. */
  readonly published_by: string
  readonly request_id: string | null
  readonly traceparent: string | null
}

const sql = {
  lock: `SELECT id, event_seq, watchers FROM objects.sources WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE`,
  fanning: `SELECT given.id FROM unnest($1::text[]) AS given (id)
    WHERE EXISTS (SELECT FROM objects.fanouts f WHERE f.source_id = given.id)`,
  add: `WITH counted AS (
      UPDATE objects.sources s SET event_seq = n.seq FROM unnest($10::text[], $11::bigint[]) AS n (id, seq) WHERE s.id = n.id
    )
    INSERT INTO objects.events
      (source_id, seq, event_id, event, payload, published_by, request_id, traceparent, accepted_at)
    SELECT e.*, $9 FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::json[], $6::json[], $7::text[],
      $8::text[]) AS e`,
}

/** What sources publish: rows of objects.events, numbered by their rows of objects.sources. */
export class PublicationRepository {
  /**
   * Sources in the order of their ids; those that are gone are left out. In every transaction they come before receivers.
   * What depends on the lock is read by later statements, which see what its holder before has committed.
   */
  async lock(tx: Tx, sourceIds: readonly string[]): Promise<LockedSource[]> {
    const [rows, open] = await Promise.all([
      this.lockRows(tx, sourceIds),
      tx.query<{ id: string }>(sql.fanning, [sourceIds]),
    ])
    const fanning = new Set(open.map(({ id }) => id))
    return rows.map((row) => ({ ...row, fanning: fanning.has(row.id) }))
  }

  /** As `lock`, by one statement: who asks must look himself for events that wait for their fan-out. */
  lockRows(tx: Tx, sourceIds: readonly string[]): Promise<Omit<LockedSource, 'fanning'>[]> {
    return tx.query(sql.lock, [sourceIds])
  }

  /** Writes events of locked sources, whose numbers follow on those that they have. */
  add(tx: Tx, events: readonly NewSourceEvent[], acceptedAt: Date): void {
    if (events.length === 0) return
    const last = new Map(events.map(({ source_id, seq }) => [source_id, seq]))
    tx.send(sql.add, [
      events.map((event) => event.source_id),
      events.map((event) => event.seq),
      events.map((event) => event.event_id),
      events.map((event) => event.event),
      events.map((event) => event.payload),
      events.map((event) => event.published_by),
      events.map((event) => event.request_id),
      events.map((event) => event.traceparent),
      acceptedAt,
      [...last.keys()],
      [...last.values()],
    ])
  }
}
