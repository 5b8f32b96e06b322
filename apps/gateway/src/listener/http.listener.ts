import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { createConnection } from 'node:net'
import { dirname } from 'node:path'
import type { Duplex } from 'node:stream'
import type { ErrorCode } from '#common/contract/errors.js'
import { SvcError } from '#common/kernel/errors.js'
import { removeIfPresent } from '#common/kernel/servers/private-file.js'
import { commonHeaders } from '../http/edge.hook.js'
import { problemOf } from '../http/problem.js'
import type { Entrance } from '../http/request.state.js'

/** Bytes of headers, and the times (ms) that a client has to send them, to send the whole request, and between two. */
const limits = { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 75_000 }

export type Serve = (request: IncomingMessage, response: ServerResponse, entrance: Entrance) => void

const refusals: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'deadline_exceeded',
}

/** A whole response, for where none can be had from the server; the connection ends with it. */
const refuse = (socket: Duplex, code: ErrorCode): void => {
  const requestId = randomUUID()
  const { status, headers, body } = problemOf(new SvcError(code), requestId)
  const text = JSON.stringify(body)
  const fields = { ...commonHeaders, ...headers, 'x-request-id': requestId, connection: 'close' }
  const lines = Object.entries({ ...fields, 'content-length': Buffer.byteLength(text) })
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`,
  )
}

/** What no parser could read is answered too. */
const onClientError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy()
  else refuse(socket, refusals[error.code ?? ''] ?? 'malformed_request')
}

const makeServer = (entrance: Entrance, serve: Serve): Server => {
  const options = { ...limits, requireHostHeader: false, noDelay: true }
  return createServer(options, (request, response) => serve(request, response, entrance))
    .on('clientError', onClientError)
    .on('connect', (_request, socket: Duplex) => refuse(socket, 'route_not_found'))
    .on('checkExpectation', ({ socket }: IncomingMessage) => refuse(socket, 'malformed_request'))
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

/** Listens at `host:port`; port 0 takes a free one. @throws Error EADDRINUSE */
export const listenTcp = (address: string, entrance: Entrance, serve: Serve): Promise<Server> => {
  const { hostname, port } = new URL(`http://${address}`)
  return listening(makeServer(entrance, serve), { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 80) })
}

/** Listens at a socket file of mode 0600. @throws Error when another process answers there */
export const listenSocket = async (path: string, entrance: Entrance, serve: Serve): Promise<Server> => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  if (await isLeftOver(path)) removeIfPresent(path)
  const mask = process.umask(0o177)
  try {
    const server = await listening(makeServer(entrance, serve), { path })
    chmodSync(path, 0o600)
    return server
  } finally {
    process.umask(mask)
  }
}
