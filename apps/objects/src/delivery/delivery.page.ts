import { cursorAfter, type Page, readCursor } from '#common/kernel/database/cursor.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'

/** Rows of one statement, as many as fit in. */
export interface CutPage<Row> {
  readonly rows: Row[]
  /** Whether there may be more than these. */
  readonly more: boolean
}

/** Bytes of payload after which a page ends; the one that crosses it is still in. With it a page fits into any message. */
export const pageBytes = 512 * 1024

/**
 * The deliveries that a statement picks, with their events. Those behind the bytes of the page come without the payload, so that
 * nobody carries what doesn't fit.
 *
 * @param more columns that the statement picks besides those of the table, each after a comma and of `p`
 */
export const withEvents = (picked: string, order: 'ASC' | 'DESC', more = ''): string =>
  `SELECT p.receiver_id, p.seq, p.source_id, p.source_seq, p.source_name, p.tier, p.created_at, p.event_id, p.event,
          p.published_by, p.request_id, p.traceparent, p.accepted_at, p.before < ${pageBytes} AS fits,
          CASE WHEN p.before < ${pageBytes} THEN p.payload END AS payload${more}
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

/** As a client reads it, out of rows that were asked for with `limit + 1`; their place is their number. */
export const pageOfCut = <Row extends { readonly seq: number }, T>(
  { rows, more }: CutPage<Row>,
  limit: number,
  { show, at }: { show: (row: Row) => T; at: (row: Row) => Date },
): Page<T> => {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    data: shown.map(show),
    next_cursor: more && last !== undefined ? cursorAfter(at(last), String(last.seq)) : null,
    has_more: more,
  }
}

/** Number below which a page begins; without a cursor above all. @throws SvcError validation_failed */
export const seqBefore = (cursor: string | undefined): number => {
  const seq = Number(readCursor(cursor)?.id ?? Number.MAX_SAFE_INTEGER)
  if (Number.isSafeInteger(seq)) return seq
  throw new SvcError('validation_failed', undefined, {
    errors: [{ pointer: '/after', message: 'must be the next_cursor of an earlier page' }],
  })
}
