import type { z } from 'zod'
import type { actorRef } from '#common/contract/common.schema.js'
import type { messageTiers } from '#common/contract/node.schema.js'
import type { Receiver } from '#common/contract/object.schema.js'
import type { ReceiverKind } from '../object/object.record.js'

/** To whom something is sent, as it stands at this moment. */
export interface Addressee {
  readonly id: string
  /** Null of a node. */
  readonly name: string | null
  readonly receiver: Receiver | null
  /** The version of the object at which its receiver changed last. */
  readonly receiver_version: number
  /** Which of the secrets that are derived for it signs, and from which one on until when those before it sign too. */
  readonly secret: number
  readonly former_secret: number | null
  readonly former_secret_until: Date | null
}

/** A delivery on its way. */
export interface Outgoing {
  readonly id: string
  readonly seq: number
  /** Which try this is: 1, 2, 3 … */
  readonly attempt: number
  /** When this try was due, which tells it from one of the same number before a replay; null of the first. */
  readonly planned_at: Date | null
  readonly source_id: string
  /** Null of a node, or of an object that is gone. */
  readonly source_name: string | null
  readonly event_id: string
  readonly event: string
  readonly payload: unknown
  readonly published_by: z.infer<typeof actorRef>
  readonly request_id: string | null
  readonly traceparent: string | null
  readonly tier: (typeof messageTiers)[number] | null
  readonly accepted_at: Date
}

/**
 * What became of one delivery. `failed`: tried in vain, and counted. `gone`: so too, and nobody is there any more, so that
 * nothing more is sent. `later`: not tried, for a reason that is not the delivery's; the receiver rests for so long (ms).
 */
export type Outcome =
  | { readonly kind: 'acked' }
  | { readonly kind: 'failed'; readonly error: string; readonly retryAfterMs?: number }
  | { readonly kind: 'gone'; readonly error: string }
  | { readonly kind: 'later'; readonly ms: number }

/** How one kind of receiver is sent to. */
export interface Carrier {
  readonly kind: Exclude<ReceiverKind, 'queue'>
  /** Receivers of this kind that one process sends to at a time. */
  readonly receivers: number
  /** Calls of `carry` at a time for one receiver; with one, deliveries go in their order. */
  readonly lanes: number
  /** Deliveries of one call. */
  readonly batch: number
  /**
   * Sends deliveries of one receiver.
   *
   * @param signal fires when this process may send to that receiver no more
   * @returns one outcome for each delivery, in their order; a throw counts as `later` for all of them
   */
  carry(to: Addressee, deliveries: readonly Outgoing[], signal: AbortSignal): Promise<readonly Outcome[]>
  /** Ends what it keeps open. */
  close?(): void
}
