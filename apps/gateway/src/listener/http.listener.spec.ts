import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import { wantBody } from '../http/awaited.body.js'
import { type ListenerOptions, listenTcp } from './http.listener.js'

const served: string[] = []
let admitting = true
let server: Server

const serve: ListenerOptions['serve'] = (request, response) => {
  served.push(request.url ?? '')
  // an answer that is on its way, and one that never comes
  if (request.url === '/stream') response.writeHead(200).write('begun\n')
  else if (request.url === '/large')
    response.end(Buffer.alloc(32 * 1024 * 1024)).once('close', () => served.push('cut off'))
  else if (request.url === '/body') {
    wantBody(request)
    request.resume().on('end', () => response.end('whole'))
  } else if (request.url !== '/held') response.end('done')
}

beforeAll(async () => {
  server = (await listenTcp(
    { host: '127.0.0.1', port: 0 },
    {
      entrance: { listener: 'owner', socket: false, tls: false },
      serve,
      admit: () => admitting,
      limits: { headersTimeout: 300, requestTimeout: 600, connectionsCheckingInterval: 50, readingTimeout: 300 },
    },
  )) as Server
})
afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
})
beforeEach(() => {
  served.length = 0
})

const dial = (): Socket =>
  connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined) as Socket

/** All that is answered until the connection ends. */
const say = async (request: string): Promise<string> => {
  const socket = dial()
  socket.write(request, 'latin1')
  return text(socket)
}

const partsOf = (answer: string) => {
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  return { head: head.toLowerCase(), problem: JSON.parse(body) as Record<string, unknown> }
}

const post = 'POST /body HTTP/1.1\r\nHost: localhost\r\n'

describe('what is refused before there is a request', () => {
  it.each([
    ['what is no HTTP', '\x16\x03\x01\x02\x00\r\n\r\n', 'malformed_request', 400],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'malformed_request', 400],
    ['an unknown method', 'BREW /v1/nodes HTTP/1.1\r\nHost: localhost\r\n\r\n', 'malformed_request', 400],
    ['two lengths', `${post}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 'malformed_request', 400],
    ['a length that is no number', `${post}Content-Length: +5\r\n\r\nhello`, 'malformed_request', 400],
    [
      'a length beside chunks',
      `${post}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      'malformed_request',
      400,
    ],
    [
      'chunks that are not the last encoding',
      `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
      'malformed_request',
      400,
    ],
    ['an encoding that nobody has', `${post}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, 'malformed_request', 400],
    ['a chunk without a size', `${post}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`, 'malformed_request', 400],
    ['a chunk that is longer', `${post}Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n`, 'malformed_request', 400],
    ['a space before a colon', 'GET / HTTP/1.1\r\nHost : localhost\r\n\r\n', 'malformed_request', 400],
    ['a zero in a header', 'GET / HTTP/1.1\r\nHost: local\0host\r\n\r\n', 'malformed_request', 400],
    ['a path that is too long', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\n`, 'headers_too_large', 413],
    ['headers without end', `GET / HTTP/1.1\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`, 'headers_too_large', 413],
    ['a tunnel', 'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n', 'route_not_found', 404],
    [
      'an expectation of its own',
      'GET / HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\nConnection: close\r\n\r\n',
      'malformed_request',
      400,
    ],
  ])('%s: as a problem with an id to ask about', async (_what, request, code, status) => {
    const { head, problem } = partsOf(await say(request))

    expect(problem).toMatchObject({ code, status, request_id: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    expect(head).toContain(`http/1.1 ${status} `)
    expect(head).toContain('content-type: application/problem+json')
    expect(head).toContain(`x-request-id: ${problem.request_id}`)
    expect(head).toContain('svc-version: ')
    for (const header of ['x-content-type-options: nosniff', 'x-frame-options: deny', 'cache-control: no-store'])
      expect(head).toContain(header)
  })

  it('a connection too many, of which nothing is served', async () => {
    admitting = false
    const answer = await say('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    admitting = true
    expect(partsOf(answer).problem).toMatchObject({ code: 'rate_limited', status: 429 })
    expect(served).toEqual([])
  })
})

describe('a header of 1 GB', () => {
  it('is answered after its first 16 KiB, and its connection ends within a second or two', async () => {
    const socket = dial()
    const answered = text(socket)
    const block = Buffer.alloc(64 * 1024, 'a')
    let sent = 0
    let open = true
    socket.once('close', () => {
      open = false
    })
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\nX-Large: ')
    while (open && sent < 1024 ** 3) {
      sent += block.length
      if (!socket.write(block))
        await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => undefined)
    }
    expect(partsOf(await answered).problem.code).toBe('headers_too_large')
    expect(sent).toBeLessThan(1024 ** 3)
    expect(served).toEqual([])
  })
})

describe('a slow sender', () => {
  /** Sends a character now and then, for as long as anybody listens. */
  const drip = async (begun: string): Promise<string> => {
    const socket = dial()
    const answered = text(socket)
    socket.write(begun)
    await waitFor(() => {
      if (socket.writable) socket.write('a')
      return socket.destroyed || socket.readableEnded
    })
    return answered
  }

  it('of headers has its time for all of them, not between two letters', async () => {
    expect(partsOf(await drip('GET / HTTP/1.1\r\nHost: localhost\r\nX: ')).problem.code).toBe('deadline_exceeded')
    expect(served).toEqual([])
  })

  it('of a body has its time for the whole request', async () => {
    const answer = await drip(`${post}Content-Length: 100000\r\n\r\n`)
    expect(partsOf(answer).problem.code).toBe('deadline_exceeded')
  })
})

describe('a client that reads nothing', () => {
  it('of its answer is cut off, and one whose answer takes its time is not', async () => {
    const [held, stalled] = [dial(), dial()]
    held.write('GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await waitFor(() => served.includes('/held'))
    stalled.pause().write('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await waitFor(() => served.includes('cut off'))
    expect(held.destroyed).toBe(false)
    for (const socket of [held, stalled]) socket.destroy()
  })
})

describe('a body that nobody reads', () => {
  it('is not waited for: the answer comes at once, and the connection ends', async () => {
    const answer = await say('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1.1 200 OK.*done$/s)
  })

  it('is not asked for either, where the client waits to be asked', async () => {
    const asks = 'Content-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n'
    expect(await say(`POST / HTTP/1.1\r\nHost: localhost\r\n${asks}`)).toMatch(/^HTTP\/1.1 200 OK/)
    expect(await say(`${post}${asks}hello`)).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK.*whole$/s)
  })
})

describe('requests in a row on one connection', () => {
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

  it('are answered in their order', async () => {
    const answer = await say(
      `${get('/a')}${get('/b')}${get('/c').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')}`,
    )
    expect(answer.match(/HTTP\/1.1 200 OK/g)).toHaveLength(3)
    expect(served).toEqual(['/a', '/b', '/c'])
  })

  it('are refused beyond 32 that wait', async () => {
    const socket = dial()
    socket.write(get('/held').repeat(40))
    await waitFor(() => served.length === 32)
    socket.write(get('/more'))
    socket.end()
    await text(socket)
    expect(served).toHaveLength(32)
  })

  it('write nothing of a refusal into an answer that has begun', async () => {
    const socket = dial()
    let answer = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      answer += chunk
    })
    socket.write(get('/stream'))
    await waitFor(() => answer.includes('begun'))
    socket.write('nonsense\r\n\r\n')
    await waitFor(() => socket.destroyed)
    expect(answer).toMatch(/^HTTP\/1.1 200 OK(?!.*problem)/s)
  })
})

describe('an old or another protocol', () => {
  it('HTTP/1.0 is answered and closed', async () => {
    expect(await say('GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 OK.*connection: close.*done$/is)
  })

  it('an upgrade is not made', async () => {
    const upgrade = 'Connection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n'
    expect(await say(`GET / HTTP/1.1\r\nHost: localhost\r\n${upgrade}`)).toMatch(/^HTTP\/1.1 200 OK/)
  })
})
