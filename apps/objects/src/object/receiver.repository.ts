import type { z } from 'zod'
import { objectLimits, type receiverState } from '#common/contract/object.schema.js'
import { isoTime } from '#common/kernel/clock.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { ReceiverRecord } from './object.record.js'

export type ReceiverState = z.infer<typeof receiverState>

/** What a receiver is, apart from what came to it. */
export type ReceiverShape = Pick<ReceiverRecord, 'id' | 'kind' | 'max_pending'>

/** One that is full takes events again when what waits is below this part of what may wait. */
export const roomAgain = 0.9

/** Rows of objects.receivers and what hangs on them. */
export class ReceiverRepository {
  /** In the order of their ids, whatever the order asked for. */
  lock(tx: Tx, ids: readonly string[]): Promise<ReceiverRecord[]> {
    return tx.query<ReceiverRecord>(
      'SELECT * FROM objects.receivers WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE',
      [ids],
    )
  }

  /**
   * Makes those that are not there; others stay as they are. A node may have been one before, of which nothing is kept: it is
   * numbered from the time on (µs), so that no delivery gets the id of one that lifecycle was given then.
   */
  make(tx: Tx, shapes: readonly ReceiverShape[]): void {
    const sorted = shapes.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const ids = sorted.map(({ id }) => id)
    tx.send(
      `INSERT INTO objects.receivers (id, kind, max_pending, delivery_seq)
       SELECT given.*, CASE kind WHEN 'node' THEN greatest(
                floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
                (SELECT max(seq) FROM objects.deliveries WHERE receiver_id = given.id)) ELSE 0 END
         FROM unnest($1::text[], $2::text[], $3::int[]) AS given (id, kind, max_pending) ON CONFLICT (id) DO NOTHING`,
      [ids, sorted.map(({ kind }) => kind), sorted.map(({ max_pending }) => max_pending)],
    )
    tx.send(
      `INSERT INTO objects.acks (receiver_id, acked, acked_count, pruned_seq)
       SELECT id, int8multirange(int8range(1, delivery_seq + 1)), delivery_seq, delivery_seq FROM objects.receivers
        WHERE id = ANY ($1::text[]) AND NOT EXISTS (SELECT FROM objects.acks WHERE receiver_id = receivers.id)
       ON CONFLICT (receiver_id) DO NOTHING`,
      [ids],
    )
  }

  /** A node that watches: what waits for it is mail that lifecycle has not taken yet. */
  makeNode(tx: Tx, id: string): void {
    this.make(tx, [{ id, kind: 'node', max_pending: objectLimits.pending }])
  }

  /** How those of these ids stand. */
  async states(reader: Reader, ids: readonly string[]): Promise<Map<string, ReceiverState>> {
    const rows = await reader.query<StateRow>(
      `SELECT r.id, r.status, r.reason, r.paused_at, r.delivery_seq - a.acked_count AS pending,
         (SELECT count(*) FROM objects.failures f WHERE f.receiver_id = r.id AND f.state = 'failed') AS failed,
         (SELECT count(*) FROM objects.failures f WHERE f.receiver_id = r.id AND f.state = 'dead') AS dead
       FROM objects.receivers r JOIN objects.acks a ON a.receiver_id = r.id WHERE r.id = ANY ($1::text[])`,
      [ids],
    )
    return new Map(
      rows.map(({ id, paused_at, ...counts }) => [
        id,
        { ...counts, paused_at: paused_at === null ? null : isoTime(paused_at.getTime()) },
      ]),
    )
  }

  /** How many deliveries to it are not acknowledged. */
  async pending(reader: Reader, id: string): Promise<number> {
    const [row] = await reader.query<{ pending: number }>(
      `SELECT r.delivery_seq - a.acked_count AS pending
       FROM objects.receivers r JOIN objects.acks a ON a.receiver_id = r.id WHERE r.id = $1`,
      [id],
    )
    return row?.pending ?? 0
  }

  /**
   * Another kind, address or program for one that this transaction has locked. What is not acknowledged stays, as if nothing of
   * it had been tried: a queue has it all to be received, anything else is sent it from now on.
   */
  redirect(tx: Tx, { id, kind }: ReceiverShape, now: Date): void {
    tx.send(
      `UPDATE objects.receivers SET kind = $2, due_at = CASE WHEN status = 'active' THEN $3::timestamptz END,
         holder = NULL, held_until = NULL
       WHERE id = $1`,
      [id, kind, kind === 'queue' ? null : now],
    )
    tx.send('DELETE FROM objects.failures WHERE receiver_id = $1', [id])
  }

  /** How many may wait for one that this transaction has locked; whoever sends to it goes on. */
  bound(tx: Tx, { id, max_pending }: ReceiverShape): void {
    tx.send('UPDATE objects.receivers SET max_pending = $2 WHERE id = $1', [id, max_pending])
  }

  /** Nothing holds back what is sent to one that this transaction has locked. */
  activate(tx: Tx, id: string): void {
    tx.send(
      `UPDATE objects.receivers SET status = 'active', reason = NULL, paused_at = NULL,
         status_version = status_version + 1 WHERE id = $1`,
      [id],
    )
  }

  /** Forgets them with all that was not delivered to them; their deliveries are deleted by and by. */
  discard(tx: Tx, ids: readonly string[], now: Date): void {
    tx.send(
      `WITH gone AS (DELETE FROM objects.receivers WHERE id = ANY ($1::text[]) RETURNING id)
       INSERT INTO objects.discarded (id, discarded_at) SELECT id, $2 FROM gone ON CONFLICT (id) DO NOTHING`,
      [ids, now],
    )
    for (const table of ['acks', 'failures', 'full_receivers', 'refusals'])
      tx.send(`DELETE FROM objects.${table} WHERE receiver_id = ANY ($1::text[])`, [ids])
  }
}

interface StateRow {
  readonly id: string
  readonly status: ReceiverRecord['status']
  readonly reason: ReceiverRecord['reason']
  readonly paused_at: Date | null
  readonly pending: number
  readonly failed: number
  readonly dead: number
}
