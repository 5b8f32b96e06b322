import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { Operation } from '#common/contract/define.js'
import { SvcError } from '#common/kernel/errors.js'
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

/** Whether JSON could set a prototype where it is merged; our own readers never do, but what they pass on may. */
const namesPrototype = (text: string): boolean => text.includes('__proto__') && /"__proto__"\s*:/.test(text)

/** Levels of arrays and objects that a body may have: what writes JSON, hashes it or checks it against a schema recurses. */
const deepest = 128

/** Whether a value goes on below so many levels. Never deeper itself than that. */
const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)))

/** Halves of surrogate pairs, which no text on the wire or in a database can hold, replaced as a browser would. */
const mended = (text: string): string =>
  /\\u[dD][89a-fA-F]/.test(text)
    ? text.replace(
        /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)/gs,
        (found, half?: string) => (half ? '\\ufffd' : found),
      )
    : text

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(mended(text))
  } catch {
    throw new SvcError('malformed_request', 'The body is not JSON.')
  }
}

/**
 * Reads a JSON body. It is read only now, after token and gate: what comes from a stranger is never buffered.
 *
 * @returns undefined when there is none.
 * @throws SvcError `payload_too_large` with `limit`, `malformed_request` for another content type or what isn't JSON.
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
  if (namesPrototype(text)) throw new SvcError('malformed_request', 'The body names __proto__.')
  const body = parsed(text)
  if (isDeeper(body, deepest)) throw new SvcError('malformed_request', `The body nests deeper than ${deepest} levels.`)
  return body
}
