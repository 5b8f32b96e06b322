import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { roomAgain } from '../object/receiver.repository.js'

/** Where a receiver stands. */
export interface AckStanding {
  /** Deliveries that are acknowledged, deleted ones included. */
  readonly acked_count: number
  /** Deliveries up to here are not kept any more. */
  readonly pruned_seq: number
}

/** What is acknowledged, as ranges of numbers: rows of objects.acks. */
export class Acks {
  /**
   * Acknowledges deliveries, whose numbers must be those of deliveries that exist; answers how many of them were not
   * acknowledged before. What was tried in vain with them is forgotten, and a receiver that was full may be full no more.
   */
  async acknowledge(tx: Tx, receiverId: string, seqs: readonly number[]): Promise<number> {
    return (await this.acknowledgeEach(tx, receiverId, seqs)).length
  }

  /** As `acknowledge`; answers which of them were not acknowledged before. */
  async acknowledgeEach(tx: Tx, receiverId: string, seqs: readonly number[]): Promise<number[]> {
    // the row is locked before it is read: of two at once the second one sees what the first has acknowledged
    const fresh = await tx.query<{ seq: number }>(
      `WITH held AS MATERIALIZED (SELECT acked FROM objects.acks WHERE receiver_id = $1 FOR UPDATE),
            fresh AS MATERIALIZED (
              SELECT (SELECT range_agg(int8range(seq, seq, '[]')) FROM unnest($2::bigint[]) AS seq) - acked AS ranges FROM held),
            each AS MATERIALIZED (
              SELECT seq FROM fresh, unnest(fresh.ranges) AS range, generate_series(lower(range), upper(range) - 1) AS seq),
            kept AS (
              UPDATE objects.acks a
                 SET acked = a.acked + fresh.ranges, acked_count = a.acked_count + (SELECT count(*) FROM each)
                FROM fresh WHERE a.receiver_id = $1 AND NOT isempty(fresh.ranges))
       SELECT seq FROM each`,
      [receiverId, seqs],
    )
    if (fresh.length === 0) return []
    const acked = fresh.map(({ seq }) => seq)
    tx.send('DELETE FROM objects.failures WHERE receiver_id = $1 AND seq = ANY ($2::bigint[])', [receiverId, acked])
    this.relieve(tx, receiverId)
    return acked
  }

  /**
   * Takes a receiver out of the full ones when enough of it is acknowledged. Whoever puts one in must hold its row of
   * objects.acks (FOR SHARE at least) and have counted under that lock: then the acknowledgement that empties it comes either
   * before, and was counted, or after, and finds it here.
   */
  relieve(tx: Tx, receiverId: string): void {
    tx.send(
      `DELETE FROM objects.full_receivers f USING objects.receivers r, objects.acks a
        WHERE f.receiver_id = $1 AND r.id = $1 AND a.receiver_id = $1
          AND r.delivery_seq - a.acked_count < r.max_pending * ${roomAgain}`,
      [receiverId],
    )
  }

  /** Puts a receiver among the full ones, or takes it out, by a bound that this transaction has set. */
  measure(tx: Tx, receiverId: string, at: Date): void {
    tx.send(
      `DELETE FROM objects.full_receivers f USING objects.receivers r, objects.acks a
        WHERE f.receiver_id = $1 AND r.id = $1 AND a.receiver_id = $1
          AND r.delivery_seq - a.acked_count < r.max_pending`,
      [receiverId],
    )
    tx.send(
      `INSERT INTO objects.full_receivers (receiver_id, since)
       SELECT r.id, $2 FROM objects.receivers r CROSS JOIN LATERAL (
         SELECT acked_count FROM objects.acks
          WHERE receiver_id = r.id AND acked_count <= r.delivery_seq - r.max_pending FOR SHARE) AS a
        WHERE r.id = $1 ON CONFLICT DO NOTHING`,
      [receiverId, at],
    )
  }

  async standing(reader: Reader, receiverId: string): Promise<AckStanding | undefined> {
    const [row] = await reader.query<AckStanding>(
      'SELECT acked_count, pruned_seq FROM objects.acks WHERE receiver_id = $1',
      [receiverId],
    )
    return row
  }
}
