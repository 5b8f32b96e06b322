import type { DeliveryState } from '#common/contract/object.schema.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { deliveryMachine } from './delivery.machine.js'
import { type CutPage, pageCut, withEvents } from './delivery.page.js'
import type { StandingDelivery } from './delivery.repository.js'

/** Which page of a receiver's deliveries: those below a number, the highest first. */
export interface HistoryFilter {
  readonly state: DeliveryState | undefined
  readonly before: number
  readonly limit: number
}

/** The highest first out of ranges, of which each is looked up by itself: what lies between costs nothing. */
const inRanges = (ranges: string, condition = ''): string =>
  `SELECT d.* FROM objects.acks a
     CROSS JOIN LATERAL (SELECT range FROM unnest(${ranges}) AS range ORDER BY lower(range) DESC) r
     CROSS JOIN LATERAL (
       SELECT * FROM objects.deliveries o
        WHERE receiver_id = $1 AND seq >= lower(range) AND seq < upper(range) ${condition}
        ORDER BY seq DESC LIMIT $3) d
    WHERE a.receiver_id = $1 LIMIT $3`

/** What is kept below the page's number. */
const kept = `int8multirange(int8range(a.pruned_seq, $2::bigint, '()'))`

const tried = (state: 'failed' | 'dead'): string =>
  `SELECT d.* FROM objects.failures f
     JOIN objects.deliveries d ON d.receiver_id = f.receiver_id AND d.seq = f.seq
    WHERE f.receiver_id = $1 AND f.seq < $2 AND f.state = '${state}' ORDER BY f.seq DESC LIMIT $3`

const picked: Readonly<Record<DeliveryState | 'any', string>> = {
  any: 'SELECT * FROM objects.deliveries WHERE receiver_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3',
  acked: inRanges(`a.acked * ${kept}`),
  pending: inRanges(
    `${kept} - a.acked`,
    'AND NOT EXISTS (SELECT FROM objects.failures f WHERE f.receiver_id = $1 AND f.seq = o.seq)',
  ),
  failed: tried('failed'),
  dead: tried('dead'),
}

/** How each of a page stands; what is acknowledged is looked at no wider than the page. */
const standing = (rows: string): string =>
  `WITH page AS MATERIALIZED (${withEvents(rows, 'DESC')}),
        done AS MATERIALIZED (
          SELECT (SELECT acked FROM objects.acks WHERE receiver_id = $1)
                 * int8multirange(int8range(min(seq), max(seq), '[]')) AS acked FROM page)
   SELECT page.*, CASE WHEN done.acked @> page.seq THEN 'acked' ELSE coalesce(f.state, 'pending') END AS state,
          coalesce(f.attempt, 0) AS attempt, f.next_attempt_at, f.last_error
     FROM page CROSS JOIN done
     LEFT JOIN objects.failures f ON f.receiver_id = page.receiver_id AND f.seq = page.seq ORDER BY page.seq DESC`

const queries = Object.fromEntries(Object.entries(picked).map(([state, rows]) => [state, standing(rows)])) as Readonly<
  Record<DeliveryState | 'any', string>
>

const replayed = deliveryMachine.next('dead', 'replay')

/** Deliveries as their owner looks at them. */
export class HistoryRepository {
  page(
    reader: Reader,
    receiverId: string,
    { state, before, limit }: HistoryFilter,
  ): Promise<CutPage<StandingDelivery>> {
    return pageCut(reader, queries[state ?? 'any'], [receiverId, before, limit], limit)
  }

  /** Dead ones are tried again from the first try on; only those named where there are numbers. Answers how many. */
  replay(tx: Tx, receiverId: string, { seqs, now, limit }: { seqs?: readonly number[]; now: Date; limit: number }) {
    return tx.count(
      `UPDATE objects.failures SET state = '${replayed}', attempt = 0, next_attempt_at = $2, noted_at = $2
        WHERE receiver_id = $1 AND seq IN (
          SELECT seq FROM objects.failures
           WHERE receiver_id = $1 AND state = 'dead' ${seqs ? 'AND seq = ANY ($4::bigint[])' : ''}
           ORDER BY seq LIMIT $3 FOR UPDATE)`,
      [receiverId, now, limit, ...(seqs ? [seqs] : [])],
    )
  }

  /** Something is to be sent to it now, if anything is. */
  due(tx: Tx, receiverId: string, now: Date): void {
    tx.send(
      `UPDATE objects.receivers SET due_at = least(due_at, $2)
        WHERE id = $1 AND status = 'active' AND kind <> 'queue'`,
      [receiverId, now],
    )
  }
}
