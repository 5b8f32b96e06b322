import type { IncomingMessage } from 'node:http'
import type { Operation } from '#common/contract/define.js'
import { SvcError } from '#common/kernel/errors.js'

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
  const bytes = await collect(raw, limit)
  if (bytes.length === 0) return undefined
  if (!jsonType.test(type ?? '')) throw new SvcError('malformed_request', 'Content-Type must be application/json.')
  const text = bytes.toString('utf8')
  if (namesPrototype(text)) throw new SvcError('malformed_request', 'The body names __proto__.')
  try {
    return JSON.parse(text)
  } catch {
    throw new SvcError('malformed_request', 'The body is not JSON.')
  }
}
