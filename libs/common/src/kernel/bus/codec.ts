import type { Envelope } from '../context.js'
import type { ErrorWire } from '../errors.js'

/**
 * The only file that knows how messages look on the wire: JSON in UTF-8.
 */

/** How much a sender may have on its way, unconsumed. */
export interface Grant {
  readonly items: number
  readonly bytes: number
}

/** A question. With `open` it asks for a stream and grants the first window. */
export interface Request {
  readonly ctx: Envelope
  readonly input: unknown
  readonly open?: Grant
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

export const encode = (message: Request | Answer | Frame | Control): Buffer => Buffer.from(JSON.stringify(message))

export const encodePayload = (payload: unknown): Buffer => Buffer.from(JSON.stringify(payload))

/** JSON text of one item, `null` where JSON has no word for it. */
export const encodeItem = (item: unknown): string => JSON.stringify(item) ?? 'null'

/** A frame of items that are encoded already. */
export const encodeItems = (n: number, bytes: number, items: readonly string[]): Buffer =>
  Buffer.from(`{"t":"items","n":${n},"bytes":${bytes},"items":[${items.join(',')}]}`)

/**
 * @throws SyntaxError when the bytes are not JSON.
 */
export const decode = <T>(data: Uint8Array): T =>
  JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('utf8')) as T
