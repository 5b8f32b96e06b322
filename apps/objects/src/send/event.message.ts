import { isoTime } from '#common/kernel/clock.js'
import { traceIdOf } from '#common/kernel/trace/span.js'
import type { Outgoing } from './carrier.js'

/**
 * What a receiver is sent, by HTTP or on a program's standard input: `type`, `timestamp` and `data` as Standard Webhooks
 * has them, and where the event comes from. The same for each try of a delivery.
 */
export interface EventMessage {
  /** Of the delivery, the same for each try: by it a receiver knows what it has seen. */
  readonly id: string
  readonly type: string
  /** When the event was accepted. */
  readonly timestamp: string
  readonly data: unknown
  readonly source: { readonly id: string; readonly name: string | null }
  readonly event_id: string
  /** Position among the deliveries of this receiver. */
  readonly seq: number
  readonly trace_id: string | null
}

export const messageOf = (delivery: Outgoing): EventMessage => ({
  id: delivery.id,
  type: delivery.event,
  timestamp: isoTime(delivery.accepted_at.getTime()),
  data: delivery.payload,
  source: { id: delivery.source_id, name: delivery.source_name },
  event_id: delivery.event_id,
  seq: delivery.seq,
  trace_id: traceIdOf(delivery.traceparent),
})
