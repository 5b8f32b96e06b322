import type { Delivery, ObjectEvent } from '#sdk/index.js'
import { ahead } from '../clock.js'
import { shortTime } from '../cron/cron.view.js'
import { brief, oneLine, table } from '../output/table.js'

export const payloadText = (payload: unknown, columns: number): string =>
  brief(oneLine(JSON.stringify(payload) ?? ''), columns)

/** One delivery as it is received, on one line. */
export const deliveryLine = ({ seq, id, event, source_ref, source_name, payload }: Delivery): string =>
  `${String(seq).padStart(6)}  ${id}  ${event} of ${source_name ?? source_ref}  ${payloadText(payload, 200)}`

export const deliveryTable = (deliveries: readonly Delivery[]): string =>
  table(
    ['SEQ', 'ID', 'STATE', 'EVENT', 'SOURCE', 'FAILED', 'NEXT TRY', 'ERROR'],
    deliveries.map((one) => [
      `${one.seq}`,
      one.id,
      one.state,
      one.event,
      one.source_name ?? one.source_ref,
      one.attempt ? `${one.attempt}` : '-',
      one.next_attempt_at ? `in ${ahead(one.next_attempt_at)}` : '-',
      brief(one.last_error ?? '', 100),
    ]),
  )

export const eventTable = (events: readonly ObjectEvent[]): string =>
  table(
    ['SEQ', 'ACCEPTED', 'EVENT', 'ID', 'BY', 'TRACE', 'PAYLOAD'],
    events.map(({ seq, accepted_at, event, id, published_by, trace_id, payload }) => [
      `${seq}`,
      shortTime(accepted_at),
      event,
      id,
      published_by.kind === 'pub' ? 'its token' : (published_by.id ?? published_by.kind),
      trace_id ?? '-',
      payloadText(payload, 100),
    ]),
  )
