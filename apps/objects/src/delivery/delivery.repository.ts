import type { z } from 'zod'
import type { actorRef } from '#common/contract/common.schema.js'
import type { MessageTier } from '#common/contract/node.schema.js'
import type { DeliveryState } from '#common/contract/object.schema.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { type CutPage, pageCut, withEvents } from './delivery.page.js'

/** A delivery with its event. */
export interface DeliveryRecord {
  readonly receiver_id: string
  readonly seq: number
  readonly source_id: string
  readonly source_seq: number
  /** Of a source that is an object. */
  readonly source_name: string | null
  /** Of a node's mail. */
  readonly tier: MessageTier | null
  readonly created_at: Date
  /** Of a node's event; an object's follows from its place. */
  readonly event_id: string | null
  readonly event: string
  readonly payload: unknown
  readonly published_by: z.infer<typeof actorRef>
  readonly request_id: string | null
  readonly traceparent: string | null
  readonly accepted_at: Date
}

/** A delivery with how it stands. */
export interface StandingDelivery extends DeliveryRecord {
  readonly state: DeliveryState
  readonly attempt: number
  readonly next_attempt_at: Date | null
  readonly last_error: string | null
}

/** Which deliveries of a receiver come to whoever follows it. */
export interface Followed {
  /** Only those behind it. */
  readonly after: number
  /** What is acknowledged is left out up to here; behind it everything comes. */
  readonly hideUpTo: number
  readonly limit: number
}

/** How far a stream has come. */
export interface Seen {
  readonly receiverId: string
  readonly seen: number
}

/** A stream, by its place among those asked for, that has something to see: deliveries, or that its queue is none any more. */
export interface Behind {
  readonly at: number
  readonly is_queue: boolean
}

/** The unacknowledged ones gap by gap: neither acknowledged nor deleted ones are looked at, however many there are. */
const inGaps = (gaps: string): string =>
  `SELECT d.* FROM objects.acks a
     CROSS JOIN LATERAL unnest(${gaps}) AS gap
     CROSS JOIN LATERAL (
       SELECT * FROM objects.deliveries
        WHERE receiver_id = $1 AND seq >= lower(gap) AND seq < coalesce(upper(gap), 9223372036854775807)
        ORDER BY seq LIMIT $3) d
    WHERE a.receiver_id = $1 LIMIT $3`

const behind = `int8multirange(int8range($2::bigint, NULL, '()'))`

const queries = {
  followed: withEvents(inGaps(`${behind} - a.acked * int8multirange(int8range(NULL, $4::bigint, '(]'))`), 'ASC'),
  live: withEvents('SELECT * FROM objects.deliveries WHERE receiver_id = $1 AND seq > $2 ORDER BY seq LIMIT $3', 'ASC'),
}

/** Rows of objects.deliveries with their events, in the order of their numbers. */
export class DeliveryRepository {
  /**
   * Those behind `after`, without what is acknowledged up to `hideUpTo`; a page ends early when its payloads are long. One that
   * failed or is dead is among them.
   */
  followed(reader: Reader, receiverId: string, { after, hideUpTo, limit }: Followed): Promise<CutPage<DeliveryRecord>> {
    return after >= hideUpTo
      ? pageCut(reader, queries.live, [receiverId, after, limit], limit)
      : pageCut(reader, queries.followed, [receiverId, after, limit, hideUpTo], limit)
  }

  /** Which of these have something to see. */
  behind(reader: Reader, streams: readonly Seen[]): Promise<Behind[]> {
    return reader.query<Behind>(
      `SELECT (q.at - 1)::int AS at, coalesce(r.kind = 'queue', false) AS is_queue
         FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS q (id, seen, at)
         LEFT JOIN objects.receivers r ON r.id = q.id
        WHERE r.id IS NULL OR r.kind <> 'queue' OR r.delivery_seq > q.seen`,
      [streams.map(({ receiverId }) => receiverId), streams.map(({ seen }) => seen)],
    )
  }
}
