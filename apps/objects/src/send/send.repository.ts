import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { type CutPage, pageCut, withEvents } from '../delivery/delivery.page.js'
import type { DeliveryRecord } from '../delivery/delivery.repository.js'
import type { ReceiverRecord } from '../object/object.record.js'
import type { Addressee, Carrier } from './carrier.js'

/** A delivery that is to be sent, with the tries that it has had. */
export interface DueDelivery extends DeliveryRecord {
  readonly attempt: number
  readonly planned_at: Date | null
}

/** What is held, and by which process. */
export interface Held {
  readonly id: string
  readonly holder: string
}

/** A receiver as whoever sends to it finds it. */
export interface Standing extends Addressee {
  readonly app_id: string | null
  readonly delivery_seq: number
}

/** A try in vain. */
export interface Failure {
  readonly seq: number
  readonly state: 'failed' | 'dead'
  readonly attempt: number
  readonly next_attempt_at: Date | null
  readonly last_error: string
}

const tried = ', p.attempt, p.planned_at'

/** Those that were never tried: unacknowledged and without a line in failures, gap by gap. */
const fresh = withEvents(
  `SELECT d.*, 0 AS attempt, NULL::timestamptz AS planned_at FROM objects.acks a
     CROSS JOIN LATERAL unnest(int8multirange(int8range($2::bigint, NULL, '()')) - a.acked) AS gap
     CROSS JOIN LATERAL (
       SELECT * FROM objects.deliveries x
        WHERE receiver_id = $1 AND seq >= lower(gap) AND seq < coalesce(upper(gap), 9223372036854775807)
          AND NOT EXISTS (SELECT FROM objects.failures f WHERE f.receiver_id = $1 AND f.seq = x.seq)
        ORDER BY seq LIMIT $3) d
    WHERE a.receiver_id = $1 LIMIT $3`,
  'ASC',
  tried,
)

const retries = withEvents(
  `SELECT d.*, f.attempt, f.next_attempt_at AS planned_at FROM (
       SELECT * FROM objects.failures
        WHERE receiver_id = $1 AND state = 'failed' AND next_attempt_at <= $2 AND NOT seq = ANY ($4::bigint[])
        ORDER BY next_attempt_at LIMIT $3) f
     JOIN objects.deliveries d ON d.receiver_id = f.receiver_id AND d.seq = f.seq`,
  'ASC',
  tried,
)

/** Rows of objects.receivers and objects.failures, as far as the daemon sends. */
export class SendRepository {
  /**
   * Takes receivers of a kind for which something is due and which nobody holds. One that is paused is due no more, until it
   * is resumed.
   *
   * @param without those that this process holds already
   */
  async take(
    reader: Reader,
    kind: Carrier['kind'],
    {
      holder,
      now,
      until,
      limit,
      without,
    }: { holder: string; now: Date; until: Date; limit: number; without: readonly string[] },
  ): Promise<string[]> {
    const free = `due_at <= $3 AND kind = $1 AND (held_until IS NULL OR held_until <= $3)`
    const rows = await reader.query<{ id: string; status: ReceiverRecord['status'] }>(
      `WITH due AS MATERIALIZED (
         SELECT id FROM objects.receivers WHERE ${free} AND NOT id = ANY ($6::text[]) ORDER BY due_at LIMIT $5),
       locked AS MATERIALIZED (
         SELECT id FROM objects.receivers WHERE id IN (SELECT id FROM due) AND ${free} ORDER BY id FOR NO KEY UPDATE)
       UPDATE objects.receivers r
          SET holder = CASE status WHEN 'active' THEN $2 END, held_until = CASE status WHEN 'active' THEN $4::timestamptz END,
              due_at = CASE status WHEN 'active' THEN due_at END
         FROM locked WHERE r.id = locked.id RETURNING r.id, r.status`,
      [kind, holder, now, until, limit, without],
    )
    return rows.filter(({ status }) => status === 'active').map(({ id }) => id)
  }

  /** Those that a process holds still, for as long as it says from now on. */
  renew(
    reader: Reader,
    holder: string,
    ids: readonly string[],
    until: Date,
  ): Promise<Pick<ReceiverRecord, 'id' | 'status'>[]> {
    return reader.query(
      `WITH locked AS MATERIALIZED (
         SELECT id FROM objects.receivers WHERE id = ANY ($1::text[]) AND holder = $2 ORDER BY id FOR NO KEY UPDATE)
       UPDATE objects.receivers r SET held_until = $3 FROM locked WHERE r.id = locked.id RETURNING r.id, r.status`,
      [ids, holder, until],
    )
  }

  kinds(reader: Reader, ids: readonly string[]): Promise<Pick<ReceiverRecord, 'id' | 'kind'>[]> {
    return reader.query('SELECT id, kind FROM objects.receivers WHERE id = ANY ($1::text[])', [ids])
  }

  /** The next moment after `now` at which something may be taken; undefined when nothing is due at all. */
  async nextDue(reader: Reader, kind: Carrier['kind'], now: Date): Promise<Date | undefined> {
    const [row] = await reader.query<{ at: Date | null }>(
      `SELECT min(greatest(due_at, held_until)) AS at FROM (
         (SELECT due_at, held_until FROM objects.receivers
           WHERE due_at <= $2 AND kind = $1 AND held_until > $2 ORDER BY due_at LIMIT 1000)
         UNION ALL
         (SELECT due_at, held_until FROM objects.receivers WHERE due_at > $2 AND kind = $1 ORDER BY due_at LIMIT 1)) AS next`,
      [kind, now],
    )
    return row?.at ?? undefined
  }

  /** The receiver, as long as this process holds it and may send to it. */
  async standing(reader: Reader, { id, holder }: Held): Promise<Standing | undefined> {
    const [row] = await reader.query<Standing>(
      `SELECT r.id, r.delivery_seq, o.name, o.receiver, o.app_id, coalesce(o.receiver_version, 1) AS receiver_version,
              coalesce(o.secret, 1) AS secret, o.former_secret, o.former_secret_until
         FROM objects.receivers r LEFT JOIN objects.objects o ON o.id = r.id AND o.deleted_at IS NULL
        WHERE r.id = $1 AND r.holder = $2 AND r.status = 'active'`,
      [id, holder],
    )
    return row
  }

  /** Deliveries behind `after` that were never tried. */
  fresh(reader: Reader, id: string, after: number, limit: number): Promise<CutPage<DueDelivery>> {
    return pageCut<DueDelivery>(reader, fresh, [id, after, limit], limit)
  }

  /** Deliveries whose next try is due, but for those that are on their way. */
  async retries(
    reader: Reader,
    id: string,
    { now, limit, without }: { now: Date; limit: number; without: readonly number[] },
  ): Promise<DueDelivery[]> {
    return (await pageCut<DueDelivery>(reader, retries, [id, now, limit, without], limit)).rows
  }

  /** Locks a receiver until commit, as long as this process holds it. */
  async lockHeld(tx: Tx, { id, holder }: Held): Promise<ReceiverRecord | undefined> {
    const [row] = await tx.query<ReceiverRecord>(
      'SELECT * FROM objects.receivers WHERE id = $1 AND holder = $2 FOR NO KEY UPDATE',
      [id, holder],
    )
    return row
  }

  /**
   * Records tries in vain; of one that was acknowledged or given up meanwhile, none. Acknowledgements stand still until commit:
   * one that comes then finds what was recorded, and removes it.
   *
   * @returns the numbers of those that were recorded
   */
  async fail(tx: Tx, id: string, failures: readonly Failure[], now: Date): Promise<Set<number>> {
    const rows = await tx.query<{ seq: number }>(
      `WITH standing AS MATERIALIZED (SELECT acked FROM objects.acks WHERE receiver_id = $1 FOR SHARE)
       INSERT INTO objects.failures
         (receiver_id, seq, state, attempt, next_attempt_at, last_error, first_failed_at, noted_at)
       SELECT $1, f.seq, f.state, f.attempt, f.next_attempt_at, f.last_error, $7, $7
         FROM unnest($2::bigint[], $3::text[], $4::int[], $5::timestamptz[], $6::text[])
              AS f (seq, state, attempt, next_attempt_at, last_error)
         JOIN standing ON NOT standing.acked @> f.seq
       ON CONFLICT (receiver_id, seq) DO UPDATE
         SET state = excluded.state, attempt = excluded.attempt, next_attempt_at = excluded.next_attempt_at,
             last_error = excluded.last_error, noted_at = excluded.noted_at
       WHERE failures.state = 'failed' RETURNING failures.seq`,
      [
        id,
        failures.map(({ seq }) => seq),
        failures.map(({ state }) => state),
        failures.map(({ attempt }) => attempt),
        failures.map(({ next_attempt_at }) => next_attempt_at),
        failures.map(({ last_error }) => last_error),
        now,
      ],
    )
    return new Set(rows.map(({ seq }) => seq))
  }

  /** Writes the status of a receiver that this transaction has locked; one that rested does so no more. */
  setStatus(tx: Tx, { id, status, reason, paused_at, status_version, due_at }: ReceiverRecord): void {
    tx.send(
      `UPDATE objects.receivers SET status = $2, reason = $3, paused_at = $4, status_version = $5, due_at = $6,
         held_until = CASE WHEN holder IS NOT NULL THEN held_until END WHERE id = $1`,
      [id, status, reason, paused_at, status_version, due_at],
    )
  }

  /** All that waits for its next try is due now. */
  hurry(tx: Tx, id: string, now: Date): void {
    tx.send(
      `UPDATE objects.failures SET next_attempt_at = $2 WHERE receiver_id = $1 AND state = 'failed' AND next_attempt_at > $2`,
      [id, now],
    )
  }

  /**
   * Lets go of a receiver that this transaction has locked.
   *
   * @param again when something is to be sent; left out: with the next try that waits
   * @param restUntil until when nobody sends
   */
  release(tx: Tx, id: string, { again, restUntil }: { again?: Date; restUntil?: Date }): void {
    tx.send(
      `UPDATE objects.receivers SET holder = NULL, held_until = $3,
         due_at = CASE status WHEN 'active' THEN coalesce($2::timestamptz, (
           SELECT next_attempt_at FROM objects.failures WHERE receiver_id = $1 AND state = 'failed'
            ORDER BY next_attempt_at LIMIT 1)) END
       WHERE id = $1`,
      [id, again ?? null, restUntil ?? null],
    )
  }
}
