import { createHmac } from 'node:crypto'
import type { ObjectRecord } from './object.record.js'

/** What deliveries are signed with, in the spelling of Standard Webhooks. */
export interface SigningSecrets {
  readonly current: string
  /** Signs too, until the overlap of a rotation is over. */
  readonly former: string | undefined
}

/** Derived, not stored: whoever holds the key makes them again, and no copy of the database gives them away. */
export class SigningKey {
  constructor(private readonly key: Buffer) {}

  secretsOf(object: Pick<ObjectRecord, 'id' | 'secret' | 'former_secret_until'>, now: Date): SigningSecrets {
    const { id, secret, former_secret_until: until } = object
    const overlaps = until !== null && until > now
    return { current: this.derive(id, secret), former: overlaps ? this.derive(id, secret - 1) : undefined }
  }

  private derive(objectId: string, secret: number): string {
    return `whsec_${createHmac('sha256', this.key).update(`${objectId}:${secret}`).digest('base64')}`
  }
}
