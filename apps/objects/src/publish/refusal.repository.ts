import type { Reader } from '#common/kernel/database/tx.js'

/** How often a source was refused for one receiver, between two moments (ms). */
export interface CountedRefusal {
  readonly source_id: string
  readonly receiver_id: string
  /** 0: what was counted before was tried again. */
  readonly count: number
  readonly first: number
  readonly last: number
}

// a receiver that is gone meanwhile has no line any more; a line that is gone begins with one
const add = `WITH given AS MATERIALIZED (
    SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::timestamptz[], $5::timestamptz[])
      AS given (source_id, receiver_id, count, first_at, last_at))
  INSERT INTO objects.refusals AS r (source_id, receiver_id, count, first_at, last_at)
  SELECT source_id, receiver_id, greatest(count, 1), first_at, last_at FROM given
    WHERE EXISTS (SELECT FROM objects.receivers WHERE id = given.receiver_id)
    ORDER BY source_id, receiver_id
  ON CONFLICT (source_id, receiver_id) DO UPDATE
    SET last_at = greatest(r.last_at, excluded.last_at), count = r.count + (
      SELECT count FROM given WHERE source_id = excluded.source_id AND receiver_id = excluded.receiver_id)`

/** Rows of objects.refusals: publications that were refused for a full receiver. */
export class RefusalRepository {
  async add(reader: Reader, refusals: readonly CountedRefusal[]): Promise<void> {
    await reader.query(add, [
      refusals.map((each) => each.source_id),
      refusals.map((each) => each.receiver_id),
      refusals.map((each) => each.count),
      refusals.map((each) => new Date(each.first)),
      refusals.map((each) => new Date(each.last)),
    ])
  }
}
