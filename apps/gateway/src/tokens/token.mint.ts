import { newId } from '#common/kernel/ids.js'
import { hashToken, mintToken } from '#common/kernel/tokens.js'
import { inTokenOf, type TokenRecord } from './token.repository.js'

/** A new token: the text, which is shown once and kept nowhere, and the row. */
export interface Fresh {
  readonly text: string
  readonly record: TokenRecord
}

export type Asked = Pick<TokenRecord, 'kind' | 'label' | 'appId' | 'profile' | 'scopes' | 'followsGrant'> &
  Partial<Pick<TokenRecord, 'objectRef' | 'rotatedFrom'>> & {
    /** Milliseconds, or for ever. */
    readonly lifetime: number | null
  }

/** @param now milliseconds since the epoch */
export const freshToken = ({ lifetime, ...token }: Asked, now: number): Fresh => {
  const id = newId('tok')
  const text = mintToken(token.kind, inTokenOf(id))
  const record = {
    ...token,
    id,
    hash: hashToken(text),
    objectRef: token.objectRef ?? null,
    createdAt: now,
    expiresAt: lifetime === null ? null : now + lifetime,
    lastUsedAt: null,
    revokedAt: null,
    rotatedFrom: token.rotatedFrom ?? null,
  }
  return { text, record }
}
