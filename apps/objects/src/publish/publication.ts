import type { Acceptance } from '#common/contract/object.schema.js'
import type { FullWatcher } from './acceptance.repository.js'

/** One event of a publication, that fits what its object declares. */
export interface CheckedEvent {
  readonly event: string
  /** JSON text. */
  readonly payload: string
  readonly dedupe_key: string | undefined
}

/** Events that are accepted together or not at all. */
export interface Publication {
  readonly object_id: string
  /** Of the object that they were checked against. */
  readonly version: number
  readonly events: readonly CheckedEvent[]
  /** Bytes of the payloads. */
  readonly bytes: number
  readonly key: PublicationKey | undefined
  /** JSON text of an actor. */
  readonly published_by: string
  readonly request_id: string
  readonly traceparent: string | null
}

/** An idempotency key of one caller, and what it asked under it. */
export interface PublicationKey {
  readonly key: string
  readonly hash: Buffer
}

/** What a publication is answered. `reused`: its idempotency key stands for another request. */
export type Verdict =
  | { readonly kind: 'accepted'; readonly answers: readonly Acceptance[]; readonly replayed: boolean }
  | { readonly kind: 'full'; readonly receivers: readonly FullWatcher[] }
  | { readonly kind: 'reused' }

/** What became of a publication. `stale`: the object isn't the one any more that it was checked against. */
export type Outcome = Verdict | { readonly kind: 'stale' }
