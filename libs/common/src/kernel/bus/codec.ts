import type { Envelope } from '../context.js'
import type { ErrorWire } from '../errors.js'

/**
 * The only file that knows how messages look on the wire: JSON in UTF-8. Long texts of a question's input or an answer's
 * output (a file's content) stand behind the JSON as they are, since escaping and scanning a mebibyte costs more than
 * sending it: one byte 1, the length of the JSON in four bytes, the JSON with the lengths of the texts, the texts.
 */

/** How much a sender may have on its way, unconsumed. */
export interface Grant {
  readonly items: number
  readonly bytes: number
}

/** A question. With `open` it asks for a stream and grants the first window; `outlives` as in the options of a call. */
export interface Request {
  readonly ctx: Envelope
  readonly input: unknown
  readonly open?: Grant
  readonly outlives?: true
}

export type Answer = { readonly output?: unknown; readonly replayed?: true } | { readonly error: ErrorWire }

/** What a producer sends. `n` numbers the frames that carry items from 1; `bytes` is the encoded size of its items. */
export type Frame =
  | { readonly t: 'open'; readonly ready: boolean }
  | { readonly t: 'ready' }
  | { readonly t: 'items'; readonly n: number; readonly bytes: number; readonly items: readonly unknown[] }
  | { readonly t: 'beat' }
  | { readonly t: 'end'; readonly n: number }
  | { readonly t: 'error'; readonly error: ErrorWire }

/** What a consumer sends back. */
export type Control =
  | { readonly t: 'credit'; readonly items: number; readonly bytes: number }
  | { readonly t: 'beat' }
  | { readonly t: 'cancel' }

const mark = 1
const headBytes = 5
/** Characters from which on a text is sent beside the JSON. */
const longText = 32 * 1024

/** Name and bytes of each text that stands behind the JSON, in their order. */
type Beside = readonly (readonly [name: string, bytes: number])[]

/** The two places of a message that hold what callers send. */
const bodyOf = (message: object): 'input' | 'output' => ('output' in message ? 'output' : 'input')

const longTextsOf = (body: unknown): [name: string, text: string][] =>
  typeof body === 'object' && body !== null && !Array.isArray(body)
    ? Object.entries(body).filter(
        // Half a surrogate pair has no UTF-8: JSON escapes it.
        ([, value]) => typeof value === 'string' && value.length >= longText && value.isWellFormed(),
      )
    : []

/** A message with nothing in it: a server that works for its caller, a caller that left, the call that was left. */
export const sign = new Uint8Array()

export const encode = (message: Request | Answer | Frame | Control): Buffer => {
  const place = bodyOf(message)
  const body = (message as Readonly<Record<string, unknown>>)[place]
  const texts = longTextsOf(body)
  if (texts.length === 0) return Buffer.from(JSON.stringify(message))
  const short = { ...(body as object), ...Object.fromEntries(texts.map(([name]) => [name, undefined])) }
  const beside: Beside = texts.map(([name, text]) => [name, Buffer.byteLength(text)])
  const json = Buffer.from(JSON.stringify({ ...message, [place]: short, beside }))
  const bytes = Buffer.allocUnsafe(beside.reduce((sum, [, size]) => sum + size, headBytes + json.length))
  bytes.writeUInt8(mark)
  bytes.writeUInt32BE(json.length, 1)
  json.copy(bytes, headBytes)
  let at = headBytes + json.length
  for (const [, text] of texts) at += bytes.write(text, at)
  return bytes
}

export const encodePayload = (payload: unknown): Buffer => Buffer.from(JSON.stringify(payload))

/** JSON text of one item, `null` where JSON has no word for it. */
export const encodeItem = (item: unknown): string => JSON.stringify(item) ?? 'null'

/** A frame of items that are encoded already. */
export const encodeItems = (n: number, bytes: number, items: readonly string[]): Buffer =>
  Buffer.from(`{"t":"items","n":${n},"bytes":${bytes},"items":[${items.join(',')}]}`)

/**
 * @throws SyntaxError when the bytes are no message.
 */
export const decode = <T>(data: Uint8Array): T => {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  return bytes[0] === mark ? (decodeWithTexts(bytes) as T) : (JSON.parse(bytes.toString('utf8')) as T)
}

const decodeWithTexts = (bytes: Buffer): unknown => {
  if (bytes.length < headBytes) throw new SyntaxError('a message was cut short')
  let at = headBytes + bytes.readUInt32BE(1)
  const { beside, ...message } = JSON.parse(bytes.toString('utf8', headBytes, at)) as { beside: Beside }
  const texts = beside.map(([name, size]) => {
    const from = at
    at += size
    return [name, bytes.toString('utf8', from, at)]
  })
  if (at !== bytes.length) throw new SyntaxError('a message was cut short')
  const place = bodyOf(message)
  const body = (message as Readonly<Record<string, object>>)[place]
  return { ...message, [place]: { ...body, ...Object.fromEntries(texts) } }
}
