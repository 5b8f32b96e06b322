import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Operation } from '#common/contract/define.js'
import type { Actor, Context } from '#common/kernel/context.js'
import { type FieldFault, SvcError } from '#common/kernel/errors.js'

/** How long an operation may take unless it names a time itself (ms). */
const usualTimeout = 10_000

const requestIdForm = /^[A-Za-z0-9._:-]{1,128}$/
const traceForm = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
const keyForm = /^[\x20-\x7e]{1,255}$/

/** The caller's X-Request-Id when it is one, else a new one. */
export const requestIdOf = (headers: IncomingHttpHeaders): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && requestIdForm.test(given) ? given : randomUUID()
}

/** 122 random bits; from the runtime's own store of them, since asking the kernel each time costs more than a request. */
const hex = (): string => randomUUID().replaceAll('-', '')

const traceparentOf = (headers: IncomingHttpHeaders): string => {
  const given = headers.traceparent
  if (typeof given === 'string' && traceForm.test(given)) return given
  return `00-${hex()}-${hex().slice(0, 16)}-01`
}

const refuse = (fault: FieldFault): never => {
  throw new SvcError('validation_failed', fault.message, { errors: [fault] })
}

const keyOf = (headers: IncomingHttpHeaders): string | undefined => {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  return typeof key === 'string' && keyForm.test(key)
    ? key
    : refuse({ pointer: '', message: 'Idempotency-Key must be 1 to 255 printable characters' })
}

/** Milliseconds that the caller gives the request by `Svc-Timeout-Ms`. */
const patienceOf = (headers: IncomingHttpHeaders): number => {
  const given = headers['svc-timeout-ms']
  if (given === undefined) return Infinity
  return typeof given === 'string' && /^[1-9]\d{0,9}$/.test(given)
    ? Number(given)
    : refuse({ pointer: '', message: 'Svc-Timeout-Ms must be a whole number of milliseconds' })
}

export interface Asked {
  readonly headers: IncomingHttpHeaders
  readonly requestId: string
  readonly actor: Actor
  readonly signal: AbortSignal
  /** Milliseconds since the epoch. */
  readonly now: number
}

/**
 * The context of a request. Its deadline is the shorter of the operation's own time and what the caller gives it.
 *
 * @throws SvcError `validation_failed` for a header that can't be read.
 */
export const contextFor = (entry: Operation, { headers, requestId, actor, signal, now }: Asked): Context => {
  const idempotencyKey = entry.idempotency === 'key' ? keyOf(headers) : undefined
  return {
    actor,
    requestId,
    traceparent: traceparentOf(headers),
    deadline: now + Math.min(entry.timeout ?? usualTimeout, patienceOf(headers)),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    signal,
    notes: {},
  }
}
