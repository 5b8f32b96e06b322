import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { listenTcp } from './http.listener.js'

let server: Server

beforeAll(async () => {
  server = await listenTcp('127.0.0.1:0', { listener: 'owner', socket: false, tls: false }, (_request, response) =>
    response.end(),
  )
})
afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
})

const say = async (request: string) => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(request, 'latin1')
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  return { head: head.toLowerCase(), problem: JSON.parse(body) as Record<string, unknown> }
}

describe('what is refused before there is a request', () => {
  it.each([
    ['what is no HTTP', '\x16\x03\x01\x02\x00\r\n\r\n', 'malformed_request', 400],
    ['an unknown method', 'BREW /v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n', 'malformed_request', 400],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
      'malformed_request',
      400,
    ],
    ['headers without end', `GET / HTTP/1.1\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`, 'headers_too_large', 413],
    ['a tunnel', 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n', 'route_not_found', 404],
    [
      'an expectation of its own',
      'GET / HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\nConnection: close\r\n\r\n',
      'malformed_request',
      400,
    ],
  ])('%s: as a problem with an id to ask about', async (_what, request, code, status) => {
    const { head, problem } = await say(request)

    expect(problem).toMatchObject({ code, status, request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    expect(head).toContain(`http/1.1 ${status} `)
    expect(head).toContain('content-type: application/problem+json')
    expect(head).toContain(`x-request-id: ${problem.request_id}`)
    expect(head).toContain('svc-version: ')
    expect(head).toContain('x-content-type-options: nosniff')
  })
})
