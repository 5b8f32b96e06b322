import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import type { Settings } from '#common/kernel/config.js'
import { loadKey } from '#common/kernel/key-file.js'
import type { ObjectRecord } from './object.record.js'

/** What deliveries are signed with, in the spelling of Standard Webhooks. */
export interface SigningSecrets {
  readonly current: string
  /** Signs too, until the overlap of a rotation is over. */
  readonly former: string | undefined
}

/** Whether what is delivered to an object is signed. */
export const signs = ({ receiver }: Pick<ObjectRecord, 'receiver'>): boolean => receiver?.type === 'url'

/** Secrets are derived, not stored: whoever holds the key makes them again, and no copy of the database gives them away. */
export class SigningKey {
  constructor(private readonly key: Buffer) {}

  /** @throws Error when the file of the key holds something else */
  static of(settings: Settings): SigningKey {
    return new SigningKey(loadKey(settings.SVC_SIGNING_KEY_FILE ?? join(settings.SVC_DATA_DIR, 'keys', 'signing.key')))
  }

  secretsOf(object: Pick<ObjectRecord, 'id' | 'secret' | 'former_secret_until'>, now: Date): SigningSecrets {
    const { id, secret, former_secret_until: until } = object
    const overlaps = until !== null && until > now
    return { current: this.derive(id, secret), former: overlaps ? this.derive(id, secret - 1) : undefined }
  }

  private derive(objectId: string, secret: number): string {
    return `whsec_${createHmac('sha256', this.key).update(`${objectId}:${secret}`).digest('base64')}`
  }
}
