import type { Reader, Tx } from '#common/kernel/database/tx.js'

/** Something that is cleared from its front, and whether there is anything old at it. */
export interface Front {
  readonly id: string
  readonly old: boolean
}

/** What one step did. */
export interface Step {
  readonly removed: number
  /** The last number that it looked at; null when there was none. */
  readonly last: number | null
  /** Whether there may be more behind it. */
  readonly more: boolean
}

export interface StepFrom {
  /** Behind this number. */
  readonly after: number
  readonly before: Date
  readonly limit: number
}

interface StepRow {
  readonly removed: number
  readonly last: number | null
  readonly looked: number
}

const toStep = ({ removed, last, looked }: StepRow, limit: number): Step => ({ removed, last, more: looked === limit })

/**
 * What of these rows is old, from the first of them on: what stands behind a younger one waits for it, so that everything up to
 * the last one is gone.
 */
const oldOnes = (time: string): string =>
  `old AS MATERIALIZED (SELECT * FROM next WHERE seq < coalesce(
     (SELECT min(seq) FROM next WHERE ${time} >= $3), 9223372036854775807))`

const stepped = `SELECT (SELECT count(*) FROM gone) AS removed, (SELECT max(seq) FROM old) AS last,
  (SELECT count(*) FROM old) AS looked`

/**
 * What is kept no longer. Deliveries and events are deleted from the front, step by step, each step behind the last one: what
 * was deleted is not looked at again while the database hasn't cleared it away.
 */
export class RetentionRepository {
  /** Receivers in the order of their ids. */
  receivers(
    reader: Reader,
    { after, before, limit }: { after: string; before: Date; limit: number },
  ): Promise<Front[]> {
    return reader.query<Front>(
      `SELECT a.receiver_id AS id, coalesce(d.created_at < $2, false) AS old
         FROM (SELECT receiver_id, acked * int8multirange(int8range(pruned_seq, NULL, '()')) AS kept FROM objects.acks
                WHERE receiver_id > $1 ORDER BY receiver_id LIMIT $3) a
         LEFT JOIN LATERAL (
           SELECT created_at FROM objects.deliveries
            WHERE receiver_id = a.receiver_id AND seq >= lower(a.kept) AND seq < upper(a.kept) ORDER BY seq LIMIT 1
         ) d ON true ORDER BY a.receiver_id`,
      [after, before, limit],
    )
  }

  /** Deletes acknowledged deliveries of one receiver; what is not acknowledged stays, wherever it stands. */
  async deliveries(tx: Tx, receiverId: string, { after, before, limit }: StepFrom): Promise<Step> {
    const [row] = await tx.query<StepRow>(
      `WITH next AS MATERIALIZED (
         SELECT d.* FROM objects.acks a
           CROSS JOIN LATERAL unnest(
             a.acked * int8multirange(int8range(greatest(a.pruned_seq, $2::bigint), NULL, '()'))) AS range
           CROSS JOIN LATERAL (
             SELECT seq, created_at FROM objects.deliveries
              WHERE receiver_id = $1 AND seq >= lower(range) AND seq < upper(range) ORDER BY seq LIMIT $4) d
          WHERE a.receiver_id = $1 LIMIT $4
       ), ${oldOnes('created_at')}, gone AS (
         DELETE FROM objects.deliveries d USING old WHERE d.receiver_id = $1 AND d.seq = old.seq RETURNING d.seq)
       ${stepped}`,
      [receiverId, after, before, limit],
    )
    const step = toStep(row as StepRow, limit)
    if (step.last !== null) this.#prunedTo(tx, receiverId, step.last)
    return step
  }

  /**
   * All up to the first one that is there is gone. What is acknowledged says nothing of that: one that stands further in front may
   * be acknowledged meanwhile, and is there still.
   */
  #prunedTo(tx: Tx, receiverId: string, seq: number): void {
    tx.send(
      `UPDATE objects.acks a SET pruned_seq = greatest(a.pruned_seq, coalesce((
           SELECT d.seq FROM objects.deliveries d WHERE d.receiver_id = $1 AND d.seq > a.pruned_seq ORDER BY d.seq LIMIT 1
         ) - 1, $2)) WHERE a.receiver_id = $1`,
      [receiverId, seq],
    )
  }

  /** Sources that have events, in the order of their ids. */
  sources(reader: Reader, { after, before, limit }: { after: string; before: Date; limit: number }): Promise<Front[]> {
    return reader.query<Front>(
      `WITH RECURSIVE walk AS (
         (SELECT source_id AS id, accepted_at FROM objects.events WHERE source_id > $1 ORDER BY source_id, seq LIMIT 1)
         UNION ALL
         SELECT next.* FROM walk CROSS JOIN LATERAL (
           SELECT source_id, accepted_at FROM objects.events WHERE source_id > walk.id ORDER BY source_id, seq LIMIT 1
         ) next)
       SELECT id, accepted_at < $2 AS old FROM walk LIMIT $3`,
      [after, before, limit],
    )
  }

  /** Deletes events of one source that are not to be delivered, and of which no delivery is kept. */
  async events(tx: Tx, sourceId: string, { after, before, limit }: StepFrom): Promise<Step> {
    const [row] = await tx.query<StepRow>(
      `WITH next AS MATERIALIZED (
         SELECT seq, accepted_at FROM objects.events WHERE source_id = $1 AND seq > $2 ORDER BY seq LIMIT $4
       ), ${oldOnes('accepted_at')}, free AS MATERIALIZED (
         SELECT seq FROM old
          WHERE NOT EXISTS (SELECT FROM objects.deliveries WHERE source_id = $1 AND source_seq = old.seq)
            AND NOT EXISTS (SELECT FROM objects.fanouts WHERE source_id = $1 AND seq = old.seq)
       ), gone AS (
         DELETE FROM objects.events e USING free WHERE e.source_id = $1 AND e.seq = free.seq RETURNING e.seq)
       ${stepped}`,
      [sourceId, after, before, limit],
    )
    return toStep(row as StepRow, limit)
  }

  /** Receivers that are gone, whose deliveries are still there. */
  async discarded(reader: Reader): Promise<string[]> {
    const rows = await reader.query<{ id: string }>('SELECT id FROM objects.discarded ORDER BY id')
    return rows.map(({ id }) => id)
  }

  /**
   * Deletes deliveries of a receiver that is gone, with the last of them the word that they are to be deleted. One that came
   * back under its id keeps what came since: it begins behind what is not kept.
   */
  async leftover(tx: Tx, receiverId: string, { after, limit }: Omit<StepFrom, 'before'>): Promise<Step> {
    const gone = await tx.query<{ seq: number }>(
      `WITH old AS MATERIALIZED (
         SELECT seq FROM objects.deliveries
          WHERE receiver_id = $1 AND seq > $2 AND seq <= coalesce(
            (SELECT pruned_seq FROM objects.acks WHERE receiver_id = $1), 9223372036854775807) ORDER BY seq LIMIT $3)
       DELETE FROM objects.deliveries d USING old WHERE d.receiver_id = $1 AND d.seq = old.seq RETURNING d.seq`,
      [receiverId, after, limit],
    )
    const more = gone.length === limit
    if (!more) tx.send('DELETE FROM objects.discarded WHERE id = $1', [receiverId])
    return { removed: gone.length, last: gone.length === 0 ? null : Math.max(...gone.map(({ seq }) => seq)), more }
  }

  /** Forgets under which keys events were accepted. One that is used anew at this moment is left to its new use. */
  keys(tx: Tx, before: Date, limit: number): Promise<number> {
    return tx.count(
      `DELETE FROM objects.keys WHERE (object_id, key) IN (
         SELECT object_id, key FROM objects.keys WHERE accepted_at < $1 ORDER BY accepted_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
      [before, limit],
    )
  }

  /** Forgets publications that were refused, but for lines that grow at this moment. */
  refusals(tx: Tx, before: Date, limit: number): Promise<number> {
    return tx.count(
      `DELETE FROM objects.refusals WHERE (source_id, receiver_id) IN (
         SELECT source_id, receiver_id FROM objects.refusals WHERE last_at < $1 ORDER BY last_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
      [before, limit],
    )
  }

  /** What was cleared when, as lifecycle shows it beside its own. */
  note(tx: Tx, name: string, removed: number, at: Date): void {
    tx.send(
      `INSERT INTO objects.retention AS kept (class, last_run_at, removed, removed_total) VALUES ($1, $2, $3, $3)
       ON CONFLICT (class) DO UPDATE SET last_run_at = excluded.last_run_at, removed = excluded.removed,
         removed_total = kept.removed_total + excluded.removed`,
      [name, at, removed],
    )
  }
}
