import { backoff, pause } from '#machine/clock.js'
import { EventStream } from '#sdk/event-stream.js'
import { Transport } from '#sdk/transport.js'
import { Ended, endsAccess, endsBroker, mayPass } from './endings.js'
import { httpFetch } from './http.fetch.js'
import { wholeCharacters } from './whole.characters.js'

export interface CallOptions {
  readonly signal?: AbortSignal
  /** Repetitions of an effect carry the same key. */
  readonly idempotencyKey?: string
}

/** One attempt that got no answer counts as lost after this long (ms). */
const attemptLimit = 30_000
/** Longest wait between two attempts (ms). */
const longestWait = 2000

const wholeFetch: typeof fetch = (address, init) =>
  httpFetch(address, typeof init?.body === 'string' ? { ...init, body: wholeCharacters(init.body) } : init)

/**
 * The daemon's API as this node may use it: its own routes, with its own token. A call is repeated until it is answered,
 * so that a restart of any part of the daemon is only a delay.
 */
export class DaemonClient {
  readonly #transport: Transport
  readonly #root: string
  /** W3C trace that what is asked now belongs to. */
  trace: string | undefined

  constructor(settings: { baseUrl: string; token: string; nodeId: string }) {
    const { baseUrl, token, nodeId } = settings
    this.#transport = new Transport({ baseUrl, token, timeout: attemptLimit, maxRetries: 0, fetch: wholeFetch })
    this.#root = `/v1/nodes/${nodeId}/`
  }

  /**
   * @throws Ended when the answer means that this process no longer hosts the node; the daemon's own error when repeating
   * the call can't help; the signal's reason.
   */
  async post<T>(path: string, body: unknown, options: CallOptions = {}): Promise<T> {
    return this.#answered(() => this.postOnce<T>(path, body, options), options.signal)
  }

  /**
   * A route that is not the node's own, by its whole path. That something isn't there is an answer like any other.
   *
   * @throws Ended when this token is no longer taken; the daemon's own error; the signal's reason.
   */
  ask<T>(method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
    const { signal } = options
    const call = { method, path, signal, headers: this.#headers(options), ...(body !== undefined && { body }) }
    return this.#answered(() => this.#transport.json<T>(call), signal, endsAccess)
  }

  async get<T>(path: string, { signal }: CallOptions = {}): Promise<T> {
    const call = { method: 'GET', path: this.#root + path, signal, headers: this.#headers() } as const
    return this.#answered(() => this.#transport.json<T>(call), signal)
  }

  /** The bytes that a route of the node's own answers; that something isn't there is an answer like any other. */
  bytes(path: string, { signal }: CallOptions = {}): Promise<Uint8Array> {
    const call = { method: 'GET', path: this.#root + path, signal, headers: this.#headers() } as const
    return this.#answered(() => this.#transport.bytes(call), signal, endsAccess)
  }

  /** Without a second attempt. */
  postOnce<T>(path: string, body: unknown, options: CallOptions = {}): Promise<T> {
    const { signal } = options
    return this.#transport.json<T>({
      method: 'POST',
      path: this.#root + path,
      body,
      signal,
      headers: this.#headers(options),
    })
  }

  /** A stream of events, connected once; what breaks it is thrown while it is read. */
  stream<T>(method: 'GET' | 'POST', path: string, body: unknown, signal: AbortSignal): AsyncIterable<T> {
    return new EventStream<T>({
      transport: this.#transport,
      request: () => ({ method, path: this.#root + path, body, signal, maxRetries: 0, headers: this.#headers() }),
      resumes: false,
    })
  }

  #headers({ idempotencyKey }: CallOptions = {}): Record<string, string> {
    return {
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(this.trace !== undefined && { traceparent: this.trace }),
    }
  }

  async #answered<T>(attempt: () => Promise<T>, signal?: AbortSignal, ends = endsBroker): Promise<T> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await attempt()
      } catch (error) {
        signal?.throwIfAborted()
        if (ends(error)) throw new Ended(error.code)
        if (!mayPass(error)) throw error
        await pause(Math.max(error.retryAfter ?? 0, backoff(failures, 40, longestWait)), signal)
        signal?.throwIfAborted()
      }
    }
  }
}
