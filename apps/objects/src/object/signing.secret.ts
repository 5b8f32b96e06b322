import { createHmac } from 'node:crypto'
import { join } from 'node:path'
import type { Settings } from '#common/kernel/config.js'
import { loadKey } from '#common/kernel/key-file.js'
import type { ObjectRecord } from './object.record.js'

/** What deliveries are signed with, in the spelling of Standard Webhooks. */
export interface SigningSecrets {
  readonly current: string
  /** Those that sign too until the overlap of a rotation is over, the newest first. */
  readonly former: readonly string[]
}

/** Which secrets of an object sign. */
export type SigningState = Pick<ObjectRecord, 'secret' | 'former_secret' | 'former_secret_until'>

/** Secrets that sign one delivery at most: each is a signature in a header. */
export const mostSigning = 5

/** Whether what is delivered to an object is signed. */
export const signs = ({ receiver }: Pick<ObjectRecord, 'receiver'>): boolean => receiver?.type === 'url'

/** Whether secrets before the current one sign too. */
const overlaps = ({ former_secret_until: until }: SigningState, now: Date): boolean => until !== null && until > now

/**
 * What signs after a rotation: those before go on for `overlap` seconds, and no less than they were promised before. None of
 * them does with 0.
 */
export const rotated = (before: SigningState, overlap: number, now: Date): SigningState => {
  const secret = before.secret + 1
  if (overlap === 0) return { secret, former_secret: null, former_secret_until: null }
  const until = new Date(now.getTime() + overlap * 1000)
  if (!overlaps(before, now)) return { secret, former_secret: before.secret, former_secret_until: until }
  const promised = before.former_secret_until as Date
  const former_secret = before.former_secret ?? before.secret - 1
  return { secret, former_secret, former_secret_until: promised > until ? promised : until }
}

/** Secrets are derived, not stored: whoever holds the key makes them again, and no copy of the database gives them away. */
export class SigningKey {
  constructor(private readonly key: Buffer) {}

  /** @throws Error when the file of the key holds something else */
  static of(settings: Settings): SigningKey {
    return new SigningKey(loadKey(settings.SVC_SIGNING_KEY_FILE ?? join(settings.SVC_DATA_DIR, 'keys', 'signing.key')))
  }

  secretsOf(object: SigningState & Pick<ObjectRecord, 'id'>, now: Date): SigningSecrets {
    const { id, secret, former_secret } = object
    const oldest = overlaps(object, now) ? Math.max(former_secret ?? secret - 1, secret - mostSigning + 1) : secret
    const former = Array.from({ length: secret - oldest }, (_, back) => this.derive(id, secret - 1 - back))
    return { current: this.derive(id, secret), former }
  }

  private derive(objectId: string, secret: number): string {
    return `whsec_${createHmac('sha256', this.key).update(`${objectId}:${secret}`).digest('base64')}`
  }
}
