import type { z } from 'zod'
import type { actorRef } from '#common/contract/common.schema.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { type CutPage, pageBytes, pageCut } from './delivery.page.js'

/** A row of objects.events. */
export interface EventRecord {
  readonly source_id: string
  readonly seq: number
  readonly event_id: string | null
  readonly event: string
  readonly payload: unknown
  readonly published_by: z.infer<typeof actorRef>
  readonly request_id: string | null
  readonly traceparent: string | null
  readonly accepted_at: Date
}

/** Which page of a source's events. */
export interface EventFilter {
  readonly event: string | undefined
  readonly seq: number | undefined
  readonly before: number
  readonly limit: number
}

const page = (condition: string): string =>
  `SELECT source_id, seq, event_id, event, published_by, request_id, traceparent, accepted_at,
          before < ${pageBytes} AS fits, CASE WHEN before < ${pageBytes} THEN payload END AS payload
     FROM (
       SELECT e.*, sum(octet_length(payload::text)) OVER (ORDER BY seq DESC) - octet_length(payload::text) AS before
         FROM (SELECT * FROM objects.events WHERE source_id = $1 AND seq < $2 ${condition}
                ORDER BY seq DESC LIMIT $3) e) e
    ORDER BY seq DESC`

/** What sources have published. */
export class EventRepository {
  /** Of one source those below a number, the newest first; with `seq` that one alone. */
  page(reader: Reader, sourceId: string, { event, seq, before, limit }: EventFilter): Promise<CutPage<EventRecord>> {
    const values: unknown[] = [sourceId, before, limit]
    const named = event === undefined ? '' : `AND event = $${values.push(event)}`
    const numbered = seq === undefined ? '' : `AND seq = $${values.push(seq)}`
    return pageCut(reader, page(`${named} ${numbered}`), values, limit)
  }

  /** Whether one is, or was, to be delivered to this receiver. */
  async isFor(reader: Reader, receiverId: string, sourceId: string, seq: number): Promise<boolean> {
    const rows = await reader.query(
      'SELECT 1 FROM objects.deliveries WHERE source_id = $1 AND source_seq = $2 AND receiver_id = $3 LIMIT 1',
      [sourceId, seq, receiverId],
    )
    return rows.length > 0
  }
}
