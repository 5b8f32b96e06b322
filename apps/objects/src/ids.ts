import { createHash } from 'node:crypto'

const digits = '0123456789abcdefghjkmnpqrstvwxyz'
/** Digits of base 32 that 128 bits take. */
const length = 26

const encode = (high: bigint, low: bigint): string => {
  let rest = (high << 64n) | low
  let text = ''
  for (; text.length < length; rest >>= 5n) text = digits[Number(rest & 31n)] + text
  return text
}

const decode = (text: string): { high: bigint; low: bigint } => {
  let value = 0n
  for (const digit of text) value = (value << 5n) | BigInt(digits.indexOf(digit))
  return { high: value >> 64n, low: value & 0xffffffffffffffffn }
}

const tags = new Map<string, bigint>()
/** Tags kept: each takes a hash to make. */
const kept = 10_000

/** 64 bits that stand for what an id belongs to. */
const tagOf = (of: string): bigint => {
  const known = tags.get(of)
  if (known !== undefined) return known
  if (tags.size >= kept) tags.clear()
  const tag = createHash('sha256').update(of).digest().readBigUInt64BE()
  tags.set(of, tag)
  return tag
}

/**
 * Ids of deliveries and of objects' events say which one is meant: its number, and of whom. No index is needed to find
 * one, and an id of another receiver is recognised as foreign.
 */
export const deliveryIdOf = (receiverId: string, seq: number): string => `dlv_${encode(BigInt(seq), tagOf(receiverId))}`

/** Number that an id of this one says; undefined for an id of another one. */
const seqOf = (of: string, id: string): number | undefined => {
  const { high, low } = decode(id.slice(id.indexOf('_') + 1))
  return low === tagOf(of) && high > 0n && high <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(high) : undefined
}

/** Number of a delivery of this receiver; undefined for an id of another one. */
export const deliverySeqOf = (receiverId: string, id: string): number | undefined => seqOf(receiverId, id)

export const eventIdOf = (objectId: string, seq: number): string => `evt_${encode(BigInt(seq), tagOf(objectId))}`

/** Number of an event of this object; undefined for an id of another one. */
export const eventSeqOf = (objectId: string, id: string): number | undefined => seqOf(objectId, id)
