import { Agent, type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { createRequire } from 'node:module'

/** Idle connections are dropped before the daemon would do so (ms). */
const idleLimit = 4000
const agent = new Agent({ keepAlive: true, timeout: idleLimit })

type Send = (url: URL, options: RequestOptions) => ReturnType<typeof requestHttp>
let secure: Send | undefined

/** TLS is loaded when an address asks for it: it takes as much memory as all the rest of a waiting broker. */
const secureSend = (): Send => {
  if (secure) return secure
  const https = createRequire(import.meta.url)('node:https') as typeof import('node:https')
  const secureAgent = new https.Agent({ keepAlive: true, timeout: idleLimit })
  secure = (url, options) => https.request(url, { ...options, agent: secureAgent })
  return secure
}

const send: Send = (url, options) => requestHttp(url, { ...options, agent })

/** Makes node load what the first request needs, while there is time for it: no address is asked. */
export const warmUp = (): void =>
  void requestHttp({ socketPath: '/dev/null/none', agent })
    .once('error', () => undefined)
    .end()

/** A stream that ended in itself leaves its connection usable; one that is left earlier is given this long for that (ms). */
const endGrace = 50

/**
 * `fetch` as the SDK uses it, over node's own HTTP client: it starts and runs in a fraction of the time and memory that
 * the global one takes. No redirects, no cookies; bodies are texts.
 */
export const httpFetch = ((address: string, init: RequestInit = {}) =>
  new Promise((resolve, reject) => {
    const url = new URL(address)
    const body = init.body as string | undefined
    const headers = {
      ...(init.headers as Record<string, string>),
      ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
    }
    const sent = (url.protocol === 'https:' ? secureSend() : send)(url, { method: init.method ?? 'GET', headers })
    const { signal } = init
    const abort = (): void => void sent.destroy(signal?.reason as Error)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    sent.once('error', reject)
    sent.once('close', () => signal?.removeEventListener('abort', abort))
    sent.once('response', (message) => resolve(new HttpAnswer(message)))
    sent.end(body)
  })) as unknown as typeof fetch

/** What the SDK reads of a `Response`. */
class HttpAnswer {
  readonly status: number
  readonly ok: boolean
  readonly headers: { get(name: string): string | null }

  constructor(private readonly message: IncomingMessage) {
    this.status = message.statusCode ?? 0
    this.ok = this.status >= 200 && this.status < 300
    this.headers = {
      get: (name) => {
        const value = message.headers[name.toLowerCase()]
        return value === undefined ? null : String(value)
      },
    }
  }

  async text(): Promise<string> {
    return (await this.#whole()).toString('utf8')
  }

  async arrayBuffer(): Promise<Uint8Array> {
    return this.#whole()
  }

  async #whole(): Promise<Buffer> {
    const chunks: Buffer[] = []
    for await (const chunk of this.message) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks)
  }

  get body(): { getReader(): MessageReader } {
    return { getReader: () => new MessageReader(this.message) }
  }
}

/** The reader of a body, piece by piece. */
class MessageReader {
  readonly #pieces: AsyncIterator<Buffer>

  constructor(private readonly message: IncomingMessage) {
    this.#pieces = message.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  }

  async read(): Promise<{ done: boolean; value: Buffer | undefined }> {
    const { done, value } = await this.#pieces.next()
    return done ? { done: true, value: undefined } : { done: false, value }
  }

  /** The last piece of a stream is often followed by its end alone: then the connection is kept. */
  async cancel(): Promise<void> {
    const { message } = this
    if (message.readableEnded || message.destroyed) return
    message.resume()
    const timer = setTimeout(() => message.destroy(), endGrace)
    message.once('close', () => clearTimeout(timer))
  }
}
