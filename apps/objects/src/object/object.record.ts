import type { z } from 'zod'
import type { actorRef } from '#common/contract/common.schema.js'
import type { DeclaredEvent, Receiver } from '#common/contract/object.schema.js'

/** A row of objects.objects. */
export interface ObjectRecord {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly catalog: readonly DeclaredEvent[]
  readonly catalog_version: number
  readonly receiver: Receiver | null
  /** The version at which the receiver changed last. */
  readonly receiver_version: number
  /** Which of the secrets that are derived for it signs. */
  readonly secret: number
  /** The oldest of those that sign too, until then; null: the one before. */
  readonly former_secret: number | null
  readonly former_secret_until: Date | null
  readonly app_id: string | null
  readonly created_by: z.infer<typeof actorRef>
  readonly version: number
  readonly created_at: Date
  readonly updated_at: Date
  readonly deleted_at: Date | null
}

export type ReceiverKind = Receiver['type'] | 'node'

/** A row of objects.receivers: an object with a receiver, or a node that watches. */
export interface ReceiverRecord {
  readonly id: string
  readonly kind: ReceiverKind
  readonly delivery_seq: number
  readonly max_pending: number
  readonly status: 'active' | 'paused'
  readonly reason: 'asked' | 'gone' | 'dead' | null
  readonly paused_at: Date | null
  readonly status_version: number
  readonly due_at: Date | null
  readonly holder: string | null
  readonly held_until: Date | null
}
