import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Received {
  readonly method: string
  /** Path with its query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
}

export type Reply = (response: ServerResponse, request: Received) => void

/**
 * The daemon's side of the wire, for tests of its clients: it answers what the test says, in order, and keeps what it was
 * sent. The last reply is repeated.
 */
export class WireServer {
  readonly received: Received[] = []
  readonly #server: Server
  #replies: Reply[] = []

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<WireServer> {
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        const received: Received = {
          method: request.method ?? '',
          path: request.url ?? '',
          headers: request.headers,
          body: body === '' ? undefined : JSON.parse(body),
        }
        wire.received.push(received)
        wire.#next()(response, received)
      })
    })
    const wire = new WireServer(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return wire
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** What comes next; forgets what was received and said before. */
  says(...replies: Reply[]): this {
    this.received.length = 0
    this.#replies = replies
    return this
  }

  /** The one request that was received. @throws Error when there were none or several */
  get only(): Received {
    const [one, ...others] = this.received
    if (!one || others.length) throw new Error(`${this.received.length} requests instead of one`)
    return one
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #next(): Reply {
    const [first = problem(404, { code: 'route_not_found' }), ...rest] = this.#replies
    if (rest.length) this.#replies = rest
    return first
  }
}

export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Reply =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }

export const empty =
  (status = 204): Reply =>
  (response) => {
    response.writeHead(status).end()
  }

export const problem =
  (status: number, fields: Record<string, unknown>, headers: Record<string, string> = {}): Reply =>
  (response) => {
    const body = { type: 'about:blank', title: 'refused', status, request_id: 'req-1', ...fields }
    response.writeHead(status, { 'content-type': 'application/problem+json', ...headers }).end(JSON.stringify(body))
  }

/** The connection breaks before an answer. */
export const cut: Reply = (response) => response.destroy()

/** No answer ever. */
export const silence: Reply = () => undefined

export interface Sent {
  readonly id?: string
  readonly event?: string
  /** None: an id alone. */
  readonly data?: unknown
}

/** Server-sent events; then the connection ends cleanly, breaks, or stays open. */
export const events =
  (sent: readonly Sent[], then: 'ends' | 'breaks' | 'stays' = 'ends'): Reply =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const frames = sent.map(
      ({ id, event, data }) =>
        `${id ? `id: ${id}\n` : ''}${data === undefined ? '' : `event: ${event ?? 'message'}\ndata: ${JSON.stringify(data)}\n`}\n`,
    )
    response.write(frames.join('') || ':\n\n', () => {
      if (then === 'ends') response.end()
      else if (then === 'breaks') response.destroy()
    })
  }

export const end: Sent = { event: 'end', data: { reason: 'settled' } }
