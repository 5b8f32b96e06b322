import type { Token } from '#common/contract/index.js'
import { isoTime } from '#common/kernel/clock.js'
import type { TokenRecord } from './token.repository.js'

const timeOf = (ms: number | null): string | null => (ms === null ? null : isoTime(ms))

/** @param now milliseconds since the epoch */
export const statusOf = ({ revokedAt, expiresAt }: TokenRecord, now: number): Token['status'] => {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'active'
}

/** A token as its owner may look at it. */
export const toToken = (token: TokenRecord, now: number): Token => ({
  id: token.id,
  kind: token.kind,
  label: token.label,
  app_id: token.appId,
  profile: token.profile,
  object_id: token.objectRef,
  scopes: token.followsGrant ? null : [...token.scopes],
  status: statusOf(token, now),
  created_at: isoTime(token.createdAt),
  expires_at: timeOf(token.expiresAt),
  last_used_at: timeOf(token.lastUsedAt),
  revoked_at: timeOf(token.revokedAt),
  rotated_from: token.rotatedFrom,
})
