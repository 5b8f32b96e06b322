import { once } from 'node:events'
import { chmodSync, mkdirSync } from 'node:fs'
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import { createConnection, type Socket } from 'node:net'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import type { ErrorCode } from '#common/contract/errors.js'
import { type Clock, systemClock } from '#common/kernel/clock.js'
import { removeIfPresent } from '#common/kernel/servers/private-file.js'
import { holdBody } from '../http/awaited.body.js'
import type { Entrance } from '../http/request.state.js'
import { isRefused, lastReading, refuse, refuseInTurn } from './refusal.js'
import type { TlsMaterial } from './tls.identity.js'

/**
 * Bytes of request line and headers together; the times (ms) that a client has to send them, to send the whole request,
 * and between two; how often that is looked at; and how long an answer may wait for a client that reads nothing of it.
 */
const limits = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 1000,
  readingTimeout: 60_000,
}

/** Requests that one connection may have waiting for their answers. */
const mostInTurn = 32

/** Connections of one listener. */
const mostConnections = 20_000

/** How long a client has for its TLS handshake (ms). */
const handshakeTimeout = 10_000

export type Server = HttpServer | TlsServer

export type Serve = (request: IncomingMessage, response: ServerResponse, entrance: Entrance) => void

export interface ListenerOptions {
  readonly entrance: Entrance
  readonly serve: Serve
  readonly clock?: Clock
  /** Serves TLS with these. */
  readonly tls?: TlsMaterial | undefined
  /** Whether a connection may stay. */
  readonly admit?: (socket: Socket) => boolean
  readonly limits?: Partial<typeof limits>
}

const refusals: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'deadline_exceeded',
}

/** The connections of one server, and the answers that each still waits for. */
class Connections {
  readonly #owed = new WeakMap<Duplex, Map<ServerResponse, IncomingMessage>>()
  /** What was answered before it had come as a whole. */
  readonly #unread = new WeakMap<Duplex, IncomingMessage>()

  constructor(
    private readonly options: ListenerOptions,
    private readonly clock: Clock,
  ) {}

  onRequest(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    if (isRefused(socket)) return
    const owed = this.#owed.get(socket) ?? new Map<ServerResponse, IncomingMessage>()
    this.#owed.set(socket, owed)
    owed.set(response, request)
    response.once('close', () => owed.delete(response))
    response.once('finish', () => this.#leaveUnread(request))
    if (owed.size > mostInTurn) refuseInTurn(response, 'rate_limited')
    else this.options.serve(request, response, this.options.entrance)
  }

  /** What no parser could read is answered too, where no other answer is on its way: it would be taken for a part of that. */
  onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (isRefused(socket)) return
    const [inHand, ...more] = [...(this.#owed.get(socket) ?? [])]
    const unread = this.#unread.get(socket)?.complete === false
    const answerable = inHand ? more.length === 0 && !inHand[0].headersSent && !inHand[1].complete : !unread
    if (error.code === 'ECONNRESET' || !socket.writable || !answerable) socket.destroy()
    else refuse(socket, refusals[error.code ?? ''] ?? 'malformed_request', this.clock)
  }

  /** Nothing has moved for a while: one that waits for its answer may, one that doesn't take it may not. */
  onQuiet(socket: Duplex): void {
    const owed = [...(this.#owed.get(socket)?.keys() ?? [])]
    if (socket.writableLength > 0 || owed.some(({ writableLength }) => writableLength > 0)) socket.destroy()
  }

  /** The rest of a body that nobody wanted is thrown away for a moment, so that its sender can read why. */
  #leaveUnread(request: IncomingMessage): void {
    if (request.complete) return
    this.#unread.set(request.socket, request)
    this.clock.after(lastReading, () => {
      if (!request.complete) request.socket.destroy()
    })
  }
}

const makeServer = (options: ListenerOptions): Server => {
  const { clock = systemClock, tls, admit } = options
  const connections = new Connections(options, clock)
  const settings = { ...limits, ...options.limits, requireHostHeader: false, noDelay: true }
  const server: Server = tls ? createTlsServer({ ...settings, ...tls, handshakeTimeout }) : createServer(settings)
  server.maxHeadersCount = 0 // counted at the edge, where what is too much is refused and not left out
  server.maxConnections = mostConnections
  server.setTimeout(settings.readingTimeout, (socket: Duplex) => connections.onQuiet(socket))
  server.on('connection', (socket: Socket) => {
    if (admit?.(socket) === false) tls ? socket.destroy() : refuse(socket, 'rate_limited', clock)
  })
  server.on('request', (request, response) => connections.onRequest(request, response))
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    holdBody(request, response)
    connections.onRequest(request, response)
  })
  server.on('clientError', (error: Error, socket: Duplex) => connections.onClientError(error, socket))
  server.on('connect', (_request, socket: Duplex) => refuse(socket, 'route_not_found', clock))
  server.on('checkExpectation', ({ socket }: IncomingMessage) => refuse(socket, 'malformed_request', clock))
  return server
}

/** A socket file that nobody answers at was left by a process that is gone. */
const isLeftOver = async (path: string): Promise<boolean> => {
  const probe = createConnection(path)
  try {
    await once(probe, 'connect')
    return false
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ECONNREFUSED' || code === 'ENOENT'
  } finally {
    probe.destroy()
  }
}

const listening = async (server: Server, at: { host: string; port: number } | { path: string }): Promise<Server> => {
  server.listen(at)
  await once(server, 'listening')
  return server
}

/** Listens at an address; port 0 takes a free one. @throws Error EADDRINUSE, EADDRNOTAVAIL, EACCES */
export const listenTcp = ({ host, port }: { host: string; port: number }, options: ListenerOptions): Promise<Server> =>
  listening(makeServer(options), { host, port })

/** Listens at a socket file of mode 0600. @throws Error when another process answers there */
export const listenSocket = async (path: string, options: ListenerOptions): Promise<Server> => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (await isLeftOver(path)) removeIfPresent(path)
  const mask = process.umask(0o177)
  try {
    const server = await listening(makeServer(options), { path })
    chmodSync(path, 0o600)
    return server
  } finally {
    process.umask(mask)
  }
}
