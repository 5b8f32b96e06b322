import { randomUUID } from 'node:crypto'
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { ErrorCode } from '#common/contract/errors.js'
import type { Clock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import { commonHeaders } from '../http/common.headers.js'
import { problemOf } from '../http/problem.js'

/** How long one that was refused has to read why (ms). What it goes on sending is thrown away meanwhile. */
export const lastReading = 1000

const refused = new WeakSet<Duplex>()

/** Whether the connection was refused: nothing that came by it is to be done any more. */
export const isRefused = (socket: Duplex): boolean => refused.has(socket)

const answerOf = (code: ErrorCode, socket: Duplex | null) => {
  const requestId = randomUUID()
  const { status, headers, body } = problemOf(new SvcError(code), requestId)
  const text = JSON.stringify(body)
  return {
    status,
    text,
    fields: {
      ...commonHeaders(socket instanceof TLSSocket),
      ...headers,
      'x-request-id': requestId,
      connection: 'close',
      'content-length': String(Buffer.byteLength(text)),
    },
  }
}

/** A whole response, for where none can be had from the server; the connection ends with it. */
export const refuse = (socket: Duplex, code: ErrorCode, clock: Clock): void => {
  if (refused.has(socket)) return
  refused.add(socket)
  const { status, text, fields } = answerOf(code, socket)
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${text}`)
  socket.once(
    'close',
    clock.after(lastReading, () => socket.destroy()),
  )
}

/** As `refuse`, in its turn behind what the connection was promised before. */
export const refuseInTurn = (response: ServerResponse, code: ErrorCode): void => {
  const { status, text, fields } = answerOf(code, response.socket)
  response.writeHead(status, fields).end(text)
}
