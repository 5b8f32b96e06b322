import type { Reader } from '#common/kernel/database/tx.js'

/** How often a source was refused for one receiver, between two moments (ms). */
export interface CountedRefusal {
  readonly source_id: string
  readonly receiver_id: string
  readonly count: number
  readonly first: number
  readonly last: number
}

// a receiver that is gone meanwhile has no line any more
const add = `INSERT INTO objects.refusals AS r (source_id, receiver_id, count, first_at, last_at)
  SELECT given.* FROM unnest($1::text[], $2::text[], $3::int[], $4::timestamptz[], $5::timestamptz[])
      AS given (source_id, receiver_id, count, first_at, last_at)
    WHERE EXISTS (SELECT FROM objects.receivers WHERE id = given.receiver_id)
    ORDER BY given.source_id, given.receiver_id
  ON CONFLICT (source_id, receiver_id) DO UPDATE
    SET count = r.count + excluded.count, last_at = greatest(r.last_at, excluded.last_at)`

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
