import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Operation } from '#common/contract/define.js'
import { SvcError } from '#common/kernel/errors.js'
import { lossIn, mayLose } from '#sdk/exact.js'
import { wantBody } from './awaited.body.js'

const tooLarge = (limit: number): SvcError => new SvcError('payload_too_large', undefined, { limit })

const jsonType = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

const collect = (raw: IncomingMessage, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (end: () => void): void => {
      raw.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose)
      end()
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else settle(() => reject(tooLarge(limit)))
    }
    const onEnd = (): void => settle(() => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    const onClose = (): void => settle(() => reject(new SvcError('client_closed')))
    raw.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose)
  })

/** Levels of arrays and objects that a body may have: what writes JSON, hashes it or checks it against a schema recurses. */
const deepest = 128

/**
 * What of a value can't be passed on as it was sent. Never deeper itself than that many levels. A name may set a prototype
 * where it is merged: our own readers never do, but what they pass on may. A number beyond all that a double holds would go on
 * as null.
 */
const faultOf = (value: unknown, levels: number): string | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'The body has a number beyond 1.8e308.'
  if (typeof value !== 'object' || value === null) return undefined
  if (levels === 0) return `The body nests deeper than ${deepest} levels.`
  if (Object.hasOwn(value, '__proto__')) return 'The body names __proto__.'
  for (const inner of Object.values(value)) {
    const fault = faultOf(inner, levels - 1)
    if (fault !== undefined) return fault
  }
  return undefined
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new SvcError('malformed_request', 'The body is not JSON.')
  }
}

/** A database, a hash and a repetition would see another value than the one that was sent, and two that differ as one. */
const requireKept = (text: string): void => {
  const loss = mayLose(text) ? lossIn(text) : undefined
  if (loss === undefined) return
  const where = loss.pointer === '' ? 'The body' : `The body at ${loss.pointer}`
  throw new SvcError('malformed_request', `${where} ${loss.message}.`, { errors: [loss] })
}

/**
 * Reads a JSON body. It is read only now, after token and gate: what comes from a stranger is never buffered.
 *
 * @returns undefined when there is none.
 * @throws SvcError `payload_too_large` with `limit`, `malformed_request` for another content type, what isn't JSON, or
 * what would not be kept as it was sent.
 */
export const readBody = async (raw: IncomingMessage, entry: Operation, usual: number): Promise<unknown> => {
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type } = raw.headers
  if (encoding === undefined && (length === undefined || length === '0')) return undefined
  const limit = entry.bodyLimit ?? usual
  if (Number(length ?? 0) > limit) throw tooLarge(limit)
  if (raw.headers['content-encoding'] !== undefined && raw.headers['content-encoding'] !== 'identity') {
    throw new SvcError('malformed_request', 'A compressed body is not taken.')
  }
  wantBody(raw)
  const bytes = await collect(raw, limit)
  if (bytes.length === 0) return undefined
  if (!jsonType.test(type ?? '')) throw new SvcError('malformed_request', 'Content-Type must be application/json.')
  if (!isUtf8(bytes)) throw new SvcError('malformed_request', 'The body is not UTF-8.')
  const text = bytes.toString('utf8')
  const body = parsed(text)
  const fault = faultOf(body, deepest)
  if (fault !== undefined) throw new SvcError('malformed_request', fault)
  requireKept(text)
  return body
}
