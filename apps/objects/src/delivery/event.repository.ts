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
  /** Of one source those below a number, the newest first. */
  page(
    reader: Reader,
    sourceId: string,
    { event, before, limit }: { event: string | undefined; before: number; limit: number },
  ): Promise<CutPage<EventRecord>> {
    return event === undefined
      ? pageCut(reader, page(''), [sourceId, before, limit], limit)
      : pageCut(reader, page('AND event = $4'), [sourceId, before, limit, event], limit)
  }
}
