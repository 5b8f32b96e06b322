import { objectLimits, type Published } from '#common/contract/object.schema.js'
import { SvcError } from '#common/kernel/errors.js'
import type { GivenPayload } from './payload.check.js'

/** An event as it was sent. */
export interface GivenEvent {
  readonly event: string
  readonly dedupe_key: string | undefined
  readonly payload: GivenPayload
  readonly bytes: number
  /** Where it stands in the request. */
  readonly pointer: string
}

/** Levels of a payload: far below what overflows the stack of whoever reads it. */
const deepest = 500

const isDeeper = (value: unknown, levels: number): boolean => {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const part of Object.values(value)) if (isDeeper(part, levels - 1)) return true
  return false
}

const refuse = (pointer: string, message: string): never => {
  throw new SvcError('validation_failed', undefined, { errors: [{ pointer, message }] })
}

const given = ({ event, payload = null, dedupe_key }: Published, pointer: string): GivenEvent => {
  if (dedupe_key?.includes('\0')) refuse(`${pointer}/dedupe_key`, 'must not hold the character U+0000')
  if (isDeeper(payload, deepest)) refuse(`${pointer}/payload`, `must not have more than ${deepest} levels`)
  const text = JSON.stringify(payload)
  const bytes = Buffer.byteLength(text)
  const limit = objectLimits.payloadBytes
  if (bytes > limit)
    throw new SvcError('payload_too_large', `The payload of an event has at most ${limit} bytes.`, { limit })
  return { event, dedupe_key, payload: { value: payload, text }, bytes, pointer }
}

/**
 * Events of one request, with their payloads as text.
 *
 * @param pointerOf where each stands in the request
 * @throws SvcError payload_too_large; validation_failed for what can't be stored
 */
export const givenEvents = (published: readonly Published[], pointerOf: (at: number) => string): GivenEvent[] => {
  const events = published.map((each, at) => given(each, pointerOf(at)))
  const limit = objectLimits.batchBytes
  if (bytesOf(events) > limit)
    throw new SvcError('payload_too_large', `The payloads of a batch have at most ${limit} bytes together.`, { limit })
  return events
}

export const bytesOf = (events: readonly GivenEvent[]): number => events.reduce((sum, { bytes }) => sum + bytes, 0)
