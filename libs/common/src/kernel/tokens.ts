import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

/**
 * Bearer tokens: `svc_<kind>_<id>_<secret><crc>`. The secret holds 256 bits in 43 digits of base 62; the checksum of
 * all that precedes it, 6 digits, lets a typo fail without a look-up and a scanner recognise a leak.
 */
export const tokenKinds = ['own', 'app', 'run', 'node', 'pub', 'rt'] as const
export type TokenKind = (typeof tokenKinds)[number]

export interface ParsedToken {
  readonly kind: TokenKind
  /** Look-up id; of a node's token `<suffix of the node id>g<generation>`. */
  readonly id: string
  readonly secret: string
}

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

const base62 = (bytes: Uint8Array, length: number): string => {
  let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  for (; text.length < length; rest /= 62n) text = digits[Number(rest % 62n)] + text
  return text
}

const checksum = (text: string): string => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(crc32(text))
  return base62(bytes, 6)
}

const assemble = (kind: TokenKind, id: string, secret: string): string => {
  const body = `svc_${kind}_${id}_${secret}`
  return body + checksum(body)
}

const form = /^svc_(own|app|run|node|pub|rt)_([0-9a-z]{1,64})_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/

/** Answers null for anything that can't be a token of ours, a mistyped one included. */
export const parseToken = (token: string): ParsedToken | null => {
  const match = form.exec(token)
  if (!match) return null
  const [, kind, id, secret, crc] = match as unknown as [string, TokenKind, string, string, string]
  return checksum(token.slice(0, -6)) === crc ? { kind, id, secret } : null
}

export const mintToken = (kind: TokenKind, id: string): string => assemble(kind, id, base62(randomBytes(32), 43))

export const hashToken = (token: string): Buffer => hash('sha256', token, 'buffer')

/** The same as text: a key by which to remember a token without keeping it. */
export const digestToken = (token: string): string => hash('sha256', token, 'base64')

export const sameHash = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b)

const nodeTokenId = (nodeId: string, generation: number): string => `${nodeId.slice('node_'.length)}g${generation}`

/**
 * The token of a node's generation. It is derived, not stored: whoever holds the key can make it again for the next
 * launch and check it without a row, so that no launch can be torn between a node and its token.
 */
export const deriveNodeToken = (key: Buffer, nodeId: string, generation: number): string => {
  const id = nodeTokenId(nodeId, generation)
  return assemble('node', id, base62(createHmac('sha256', key).update(`node-token:${id}`).digest(), 43))
}

/** Node and generation of a node's token, or null when it isn't one that this key made. */
export const verifyNodeToken = (key: Buffer, token: string): { nodeId: string; generation: number } | null => {
  const match = /^svc_node_([0-9a-z]{26})g([1-9]\d{0,8})_/.exec(token)
  if (!match) return null
  const nodeId = `node_${match[1]}`
  const generation = Number(match[2])
  return sameHash(hashToken(deriveNodeToken(key, nodeId, generation)), hashToken(token)) ? { nodeId, generation } : null
}
