import { type Limit, limited } from './abort.js'
import { monotonic, pause, untilHttpDate } from './clock.js'
import {
  ConnectionError,
  errorOf,
  isWorthRetrying,
  type Problem,
  ResponseError,
  SvcError,
  TimeoutError,
} from './errors.js'
import type { ClientOptions } from './options.js'
import type { Method } from './route.js'

/** One call, ready to be sent: its path has its parameters and its query. */
export interface Outgoing {
  readonly method: Method
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
  /** ms for the whole call, retries included. */
  readonly timeout?: number | undefined
  readonly maxRetries?: number | undefined
}

interface Environment {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> }
}

/** Timers can't count further; a longer limit, or none (`Infinity`), is this one (ms, some 24 days). */
const longestTimeout = 2 ** 31 - 1
const firstDelay = 500
const longestDelay = 8000

/** Time in ms before the next attempt: full jitter, so that many clients don't come back at once. */
export const backoff = (failures: number): number =>
  Math.random() * Math.min(longestDelay, firstDelay * 2 ** (failures - 1))

const newKey = (): string => {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Sends requests: address, token, retries, time limits and errors, the same for every method. */
export class Transport {
  readonly baseUrl: string
  readonly timeout: number
  readonly maxRetries: number | undefined
  readonly #token: string | undefined
  readonly #fetch: typeof globalThis.fetch

  /** @throws TypeError when the base URL is no http or https address */
  constructor(options: ClientOptions = {}) {
    const env = (globalThis as Environment).process?.env
    const address = options.baseUrl ?? (env?.SVC_BASE_URL || 'http://127.0.0.1:7420')
    const { protocol, username, password } = new URL(address)
    if (!/^https?:$/.test(protocol)) throw new TypeError(`baseUrl is not an http address: ${address}`)
    if (username || password) throw new TypeError('baseUrl holds a name or a password: a token is given by `token`')
    this.baseUrl = address.replace(/\/+$/, '')
    this.timeout = options.timeout ?? 60_000
    this.maxRetries = options.maxRetries
    this.#token = options.token ?? (env?.SVC_TOKEN || undefined)
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis)
  }

  /** Sends and reads one JSON answer; undefined for an empty one. */
  json<T>(call: Outgoing): Promise<T> {
    return this.#answer(call, 'application/json', readJson) as Promise<T>
  }

  /** Sends and reads the bytes of one answer. */
  bytes(call: Outgoing): Promise<Uint8Array> {
    return this.#answer(call, '*/*', readBytes)
  }

  async #answer<T>(
    call: Outgoing,
    accept: string,
    read: (response: Response, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const timeout = this.#timeoutOf(call)
    const until = monotonic() + timeout
    const limit = limited(call.signal, timeout, () => new TimeoutError(timeout))
    const headers = this.#headers(call, accept)
    const retries = call.maxRetries ?? this.maxRetries ?? 2
    try {
      for (let failures = 0; ; ) {
        try {
          headers['svc-timeout-ms'] = String(Math.max(1, Math.round(until - monotonic())))
          return await read(await this.#fetchOnce(call, headers, limit.signal), limit.signal)
        } catch (error) {
          failures += 1
          if (failures > retries || !isWorthRetrying(error)) throw error
          const delay = error.retryAfter ?? backoff(failures)
          if (monotonic() + delay >= until) throw error
          await pause(delay, limit.signal)
        }
      }
    } finally {
      limit.release()
    }
  }

  /**
   * Opens a stream of server-sent events, once. The time limit is for the head of the answer; aborting `connection` ends
   * the stream.
   */
  async open(call: Outgoing, connection: Limit): Promise<ReadableStream<Uint8Array>> {
    const timeout = this.#timeoutOf(call)
    const timer = setTimeout(() => connection.abort(new TimeoutError(timeout)), timeout)
    try {
      const response = await this.#fetchOnce(call, this.#headers(call, 'text/event-stream'), connection.signal)
      if (!response.ok) throw await failureOf(response)
      const type = response.headers.get('content-type') ?? ''
      if (!type.startsWith('text/event-stream') || !response.body) {
        await letGo(response)
        throw new ResponseError(`expected a stream of events, got ${type || 'nothing'}`, response.status)
      }
      return response.body
    } finally {
      clearTimeout(timer)
    }
  }

  #timeoutOf(call: Outgoing): number {
    return Math.min(call.timeout ?? this.timeout, longestTimeout)
  }

  async #fetchOnce(call: Outgoing, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const body = call.body === undefined ? {} : { body: JSON.stringify(call.body) }
    try {
      const response = await this.#fetch(this.baseUrl + call.path, {
        method: call.method,
        headers,
        signal,
        redirect: 'manual',
        ...body,
      })
      if (!isRedirect(response)) return response
      await letGo(response)
    } catch (cause) {
      throw signal.aborted
        ? signal.reason
        : new ConnectionError(`cannot reach ${this.baseUrl}${reasonOf(cause)}`, { cause })
    }
    throw new ResponseError(
      'the answer sends this request elsewhere: it stays here, since the token must not go along',
      0,
    )
  }

  /** Made once a call: every attempt carries the same idempotency key. */
  #headers(call: Outgoing, accept: string): Record<string, string> {
    const headers: Record<string, string> = { accept }
    if (this.#token) headers.authorization = `Bearer ${this.#token}`
    if (call.body !== undefined) headers['content-type'] = 'application/json'
    if (call.method === 'POST') headers['idempotency-key'] = newKey()
    for (const [name, value] of Object.entries(call.headers ?? {})) headers[name.toLowerCase()] = value
    return headers
  }
}

/** The daemon sends nobody elsewhere. A browser tells no more of such an answer than that it was one. */
const isRedirect = ({ type, status }: Response): boolean => type === 'opaqueredirect' || (status >= 300 && status < 400)

/**
 * An answer that nobody reads would hold its connection, and with it a process that has nothing else to do. One that broke by
 * itself holds nothing any more, and the caller is told of the answer, not of that.
 */
const letGo = async ({ body }: Response): Promise<void> => {
  await body?.cancel().catch(() => undefined)
}

const reasonOf = (cause: unknown): string => {
  const inner = (cause as { cause?: { code?: unknown } } | undefined)?.cause
  return typeof inner?.code === 'string' ? ` (${inner.code})` : ''
}

const readJson = async (response: Response, signal: AbortSignal): Promise<unknown> => {
  if (!response.ok) throw await failureOf(response)
  const text = await textOf(response, signal)
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ResponseError('the answer is not JSON', response.status, { cause })
  }
}

const readBytes = async (response: Response, signal: AbortSignal): Promise<Uint8Array> => {
  if (!response.ok) throw await failureOf(response)
  return new Uint8Array(await whole(() => response.arrayBuffer(), signal))
}

const textOf = (response: Response, signal: AbortSignal): Promise<string> => whole(() => response.text(), signal)

const whole = async <T>(read: () => Promise<T>, signal: AbortSignal): Promise<T> => {
  try {
    return await read()
  } catch (cause) {
    throw signal.aborted
      ? signal.reason
      : new ConnectionError('the connection broke in the middle of the answer', { cause })
  }
}

const failureOf = async (response: Response): Promise<SvcError> => {
  const text = await response.text().catch(() => '')
  let problem: Problem = {}
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed === 'object' && parsed !== null) problem = parsed as Problem
  } catch {
    problem = { detail: text.slice(0, 500) }
  }
  return errorOf(response.status, problem, response.headers.get('x-request-id') ?? undefined, retryAfterOf(response))
}

const retryAfterOf = (response: Response): number | undefined => {
  const text = response.headers.get('retry-after')
  if (text === null) return undefined
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : untilHttpDate(text)
}
