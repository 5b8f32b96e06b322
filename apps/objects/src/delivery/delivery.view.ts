import type { Delivery } from '#common/contract/object.schema.js'
import { isoTime } from '#common/kernel/clock.js'
import { traceIdOf } from '#common/kernel/trace/span.js'
import { deliveryIdOf, eventIdOf } from '../ids.js'
import type { DeliveryRecord, StandingDelivery } from './delivery.repository.js'

/** Of an event: its own id where it came with one, else what follows from its place. */
export const eventIdFor = ({ event_id, source_id, source_seq }: DeliveryRecord): string =>
  event_id ?? eventIdOf(source_id, source_seq)

/** A delivery as its receiver and the owner see it; one of a queue was never tried. */
export const toDelivery = (row: DeliveryRecord & Partial<StandingDelivery>): Delivery => ({
  id: deliveryIdOf(row.receiver_id, row.seq),
  object_ref: row.receiver_id,
  source_ref: row.source_id,
  source_name: row.source_name,
  event_id: eventIdFor(row),
  event: row.event,
  payload: row.payload,
  seq: row.seq,
  attempt: row.attempt ?? 0,
  state: row.state ?? 'pending',
  created_at: isoTime(row.created_at.getTime()),
  next_attempt_at: row.next_attempt_at ? isoTime(row.next_attempt_at.getTime()) : null,
  last_error: row.last_error ?? null,
  trace_id: traceIdOf(row.traceparent),
})
