import type { Reader } from '#common/kernel/database/tx.js'

/** Rows of one statement, as many as fit in. */
export interface CutPage<Row> {
  readonly rows: Row[]
  /** Whether there may be more than these. */
  readonly more: boolean
}

/** Bytes of payload after which a page ends; the one that crosses it is still in. */
export const pageBytes = 1024 * 1024

/**
 * The deliveries that a statement picks, with their events. Those behind the bytes of the page come without the payload, so that
 * nobody carries what doesn't fit.
 */
export const withEvents = (picked: string, order: 'ASC' | 'DESC', standing = ''): string =>
  `SELECT p.receiver_id, p.seq, p.source_id, p.source_seq, p.source_name, p.tier, p.created_at, p.event_id, p.event,
          p.published_by, p.request_id, p.traceparent, p.accepted_at, p.before < ${pageBytes} AS fits,
          CASE WHEN p.before < ${pageBytes} THEN p.payload END AS payload${standing}
     FROM (
       SELECT d.*, e.event_id, e.event, e.payload, e.published_by, e.request_id, e.traceparent, e.accepted_at,
              o.name AS source_name,
              sum(octet_length(e.payload::text)) OVER (ORDER BY d.seq ${order}) - octet_length(e.payload::text) AS before
         FROM (${picked}) d
         JOIN objects.events e ON e.source_id = d.source_id AND e.seq = d.source_seq
         LEFT JOIN objects.objects o ON o.id = d.source_id
     ) p ORDER BY p.seq ${order}`

/** Runs a statement of `withEvents` that picks `limit` rows at most. */
export const pageCut = async <Row>(
  reader: Reader,
  text: string,
  values: readonly unknown[],
  limit: number,
): Promise<CutPage<Row>> => {
  const picked = await reader.query<Row & { fits: boolean }>(text, values)
  const rows = picked.filter(({ fits }) => fits)
  return { rows, more: picked.length === limit || rows.length < picked.length }
}
