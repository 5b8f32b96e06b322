import type { Tx } from '#common/kernel/database/tx.js'

/** An event that is written in the same transaction, or was before. */
export interface SpreadEvent {
  readonly source_id: string
  readonly seq: number
  readonly event: string
}

/** Consecutive events of one source: where they stand among all, counted from 1. */
interface Run {
  readonly source_id: string
  readonly from: number
  to: number
}

const runsOf = (events: readonly SpreadEvent[]): Run[] => {
  const runs: Run[] = []
  events.forEach(({ source_id }, index) => {
    const last = runs.at(-1)
    if (last?.source_id === source_id) last.to = index + 1
    else runs.push({ source_id, from: index + 1, to: index + 1 })
  })
  return runs
}

/**
 * Receivers are locked in the order of their ids, and numbered from what their rows say then. One that seems full is looked
 * at again while its acknowledgements stand still: the one that would empty it comes before or after.
 */
const deliver = (which: string): string => `
  WITH due AS MATERIALIZED (
    SELECT w.watcher_id, count(*) AS added,
      array_agg(run.source_id ORDER BY run.first, e.place) AS source_ids,
      array_agg(e.seq ORDER BY run.first, e.place) AS seqs,
      array_agg(w.tier ORDER BY run.first, e.place) AS tiers
    FROM unnest($1::text[], $2::int[], $3::int[]) AS run (source_id, first, last)
    JOIN objects.watches w ON w.source_id = run.source_id ${which}
    CROSS JOIN LATERAL unnest(($4::bigint[])[run.first:run.last], ($5::text[])[run.first:run.last])
      WITH ORDINALITY AS e (seq, event, place)
    WHERE w.events = '{}' OR e.event = ANY (w.events)
    GROUP BY w.watcher_id ORDER BY w.watcher_id
  ), locked AS MATERIALIZED (
    SELECT r.id, r.kind, r.status, r.max_pending, r.delivery_seq AS before, r.delivery_seq + due.added AS after,
      due.source_ids, due.seqs, due.tiers
    FROM due CROSS JOIN LATERAL (
      SELECT * FROM objects.receivers WHERE id = due.watcher_id FOR NO KEY UPDATE
    ) AS r
  ), counted AS (
    UPDATE objects.receivers r SET delivery_seq = locked.after,
      due_at = CASE WHEN locked.kind <> 'queue' AND locked.status = 'active' THEN least(r.due_at, $6) ELSE r.due_at END
    FROM locked WHERE r.id = locked.id
  ), written AS (
    INSERT INTO objects.deliveries (receiver_id, seq, source_id, source_seq, tier, created_at)
    SELECT locked.id, locked.before + d.place, d.source_id, d.seq, CASE WHEN locked.kind = 'node' THEN d.tier END, $6
    FROM locked CROSS JOIN LATERAL unnest(locked.source_ids, locked.seqs, locked.tiers)
      WITH ORDINALITY AS d (source_id, seq, tier, place)
  ), filled AS (
    INSERT INTO objects.full_receivers (receiver_id, since)
    SELECT locked.id, $6 FROM locked CROSS JOIN LATERAL (
      SELECT acked_count FROM objects.acks
      WHERE receiver_id = locked.id AND acked_count <= locked.after - locked.max_pending FOR SHARE
    ) AS a
    WHERE locked.after >= locked.max_pending
    ON CONFLICT DO NOTHING
  )
  SELECT id FROM locked`

const sql = {
  toAll: deliver(''),
  toSome: deliver('AND w.watcher_id = ANY ($7::text[])'),
}

/** Deliveries of events, each to those of its source's watchers that want it. */
export class SpreadRepository {
  /**
   * Numbers and writes them, behind all that their receivers have; those of one source in the order given. Answers who has
   * something new.
   *
   * @param watchers only these; all unless given
   */
  async deliver(
    tx: Tx,
    events: readonly SpreadEvent[],
    at: Date,
    watchers?: readonly string[],
  ): Promise<readonly string[]> {
    const runs = runsOf(events)
    const values = [
      runs.map(({ source_id }) => source_id),
      runs.map(({ from }) => from),
      runs.map(({ to }) => to),
      events.map(({ seq }) => seq),
      events.map(({ event }) => event),
      at,
    ]
    const rows = watchers
      ? await tx.query<{ id: string }>(sql.toSome, [...values, watchers])
      : await tx.query<{ id: string }>(sql.toAll, values)
    return rows.map(({ id }) => id)
  }
}
