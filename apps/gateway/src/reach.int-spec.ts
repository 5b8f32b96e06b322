import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { routes } from '#common/contract/index.js'
import { testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { type Answer, TestGateway } from './testing/gateway.fixture.js'
import { WireLifecycle } from './testing/wire-lifecycle.fixture.js'

let gateway: TestGateway
let wire: WireLifecycle
let node: string
/** Tokens of two apps, each with an origin of its own. */
let notes: string
let chess: string

const notesPage = 'https://notes.example'
const chessPage = 'https://chess.example:8443'
const ownersPage = 'https://console.example'

const register = async (name: string, origin: string): Promise<string> => {
  const body = { name, origins: [origin], scopes: ['svc:llm'] }
  await gateway.ask({ method: 'POST', path: '/v1/apps', body })
  const minted = await gateway.ask({ method: 'POST', path: '/v1/tokens', body: { app: name } })
  return minted.body.token
}

beforeAll(async () => {
  const { url } = testNats()
  wire = await WireLifecycle.start(url)
  gateway = await TestGateway.start(url, await testDatabase())
  node = wire.create()
  notes = await register('notes', notesPage)
  chess = await register('chess', chessPage)
  await gateway.ask({ method: 'PATCH', path: '/v1/access', body: { origins: [ownersPage] } })
})

afterAll(async () => {
  await gateway?.stop()
  await wire?.stop()
})

const portOf = (listener: 'owner' | 'app'): number => Number(new URL(gateway.listeners.addresses[listener]).port)

/** One raw request, and all that comes until the connection ends. */
const say = async (request: string, listener: 'owner' | 'app' = 'owner') => {
  const socket = connect(portOf(listener), '127.0.0.1')
  socket.write(request, 'latin1')
  const answer = await text(socket)
  const [head = '', body = ''] = answer.split('\r\n\r\n')
  return { head, status: Number(head.split(' ')[1]), code: body.startsWith('{') ? JSON.parse(body).code : undefined }
}

const get = (target: string, headers: string): string => `GET ${target} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`

/** What a browser sends of a page that asks by `fetch`. */
const asPage = (origin: string) => ({
  origin,
  'sec-fetch-site': 'cross-site',
  'sec-fetch-mode': 'cors',
  'sec-fetch-dest': 'empty',
})

const preflight = (origin: string, more: Record<string, string> = {}) => ({
  ...asPage(origin),
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type,idempotency-key',
  ...more,
})

const corsOf = ({ headers }: Answer): string[] => Object.keys(headers).filter((name) => name.startsWith('access-'))

const app = () => gateway.listeners.addresses.app

describe('a listener', () => {
  const cases = routes.flatMap((entry) =>
    (['owner', 'app'] as const)
      .filter((listener) => !entry.listeners?.includes(listener))
      .map((listener) => [listener, entry.method as string, entry.path as string] as const),
  )

  it.each(cases)('%s’s refuses %s %s, whoever asks', async (listener, method, path) => {
    const base = gateway.listeners.addresses[listener]
    const place = path.replace('{id}', node)
    for (const token of [undefined, gateway.token, notes, 'nonsense']) {
      const { status, body } = await gateway.ask({ method, path: place, base, token })
      expect([status, body.code]).toEqual([403, 'listener_forbidden'])
    }
  })

  it('puts the same headers on every answer, whatever it is', async () => {
    for (const path of ['/healthz', '/v1/nodes', '/v1/nonsense', '/%E0%A4%A']) {
      for (const base of [gateway.base, app()]) {
        const { headers } = await gateway.ask({ path, base, token: undefined })
        expect(headers).toMatchObject({
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
          'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
          'cache-control': 'no-store',
          'referrer-policy': 'no-referrer',
          'x-request-id': expect.any(String),
          'svc-version': expect.any(String),
        })
        expect(headers.vary).toMatch(/Origin/)
        expect(headers['strict-transport-security']).toBeUndefined()
      }
    }
  })
})

describe('a rebinding Host', () => {
  it.each([
    ['a foreign name', 'Host: evil.example:7420\r\n', 403, 'host_forbidden'],
    ['ours as a part of a foreign one', 'Host: localhost.evil.example\r\n', 403, 'host_forbidden'],
    ['an address that we do not listen at', 'Host: 10.0.0.1\r\n', 403, 'host_forbidden'],
    ['an empty name', 'Host:\r\n', 403, 'host_forbidden'],
    ['none', '', 400, 'malformed_request'],
    ['two', 'Host: localhost\r\nHost: evil.example\r\n', 400, 'malformed_request'],
    ['the same twice', 'Host: localhost\r\nHost: localhost\r\n', 400, 'malformed_request'],
  ])('%s is refused', async (_what, headers, status, code) => {
    for (const listener of ['owner', 'app'] as const) {
      expect(await say(get('/healthz', headers), listener)).toMatchObject({ status, code })
    }
  })

  it.each(['localhost', 'LOCALHOST.:1', '127.0.0.1:7420', '[::1]:7420'])('%s is this machine', async (host) => {
    expect((await say(get('/healthz', `Host: ${host}\r\n`))).status).toBe(200)
  })

  it('is found in a target that names it too', async () => {
    const ask = (target: string) => say(get(target, 'Host: localhost\r\n'))
    expect((await ask('http://localhost/healthz')).status).toBe(200)
    expect(await ask('http://evil.example/healthz')).toMatchObject({ status: 403, code: 'host_forbidden' })
    expect(await ask('http://localhost@evil.example/healthz')).toMatchObject({ status: 403, code: 'host_forbidden' })
    expect(await ask('HTTPS://evil.example')).toMatchObject({ status: 403, code: 'host_forbidden' })
    for (const target of ['*', 'evil.example:443', 'ftp://evil.example/healthz', '//evil.example/healthz'])
      expect([400, 403, 404]).toContain((await ask(target)).status)
  })

  it('does not matter at the socket, which no browser reaches', async () => {
    const { socketPath } = gateway.listeners
    const headers = { host: 'evil.example' }
    expect((await gateway.ask({ path: '/v1/status', socketPath, headers })).status).toBe(200)
    // a program that can open the file is not the owner by that: with one account many run
    expect((await gateway.ask({ path: '/v1/status', socketPath, token: undefined })).body.code).toBe('token_missing')
  })
})

describe('a page of another origin', () => {
  const strangers = ['https://evil.example', 'null', 'https://notes.example.evil.example', 'http://notes.example', '*']

  it.each(strangers)('%s is refused before its token is looked at, and may read nothing', async (origin) => {
    for (const base of [gateway.base, app()]) {
      const asked = await gateway.ask({ path: '/v1/health', base, headers: asPage(origin) })
      const asking = await gateway.ask({ method: 'OPTIONS', path: '/v1/nodes', base, headers: preflight(origin) })
      for (const answer of [asked, asking]) {
        expect([answer.status, answer.body.code, corsOf(answer)]).toEqual([403, 'origin_forbidden', []])
      }
    }
  })

  it('several origins in one header, or two headers, are no origin', async () => {
    const health = (headers: string) => say(get('/v1/health', `Host: localhost\r\n${headers}`), 'app')
    expect(await health(`Origin: ${notesPage}, https://evil.example\r\n`)).toMatchObject({ code: 'origin_forbidden' })
    expect(await health(`Origin: ${notesPage}\r\nOrigin: ${notesPage}\r\n`)).toMatchObject({ code: 'origin_forbidden' })
  })

  it('is refused what it embeds without saying who it is, and may be a link', async () => {
    const embedded = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }
    const linked = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    expect((await gateway.ask({ path: '/healthz', headers: embedded })).body.code).toBe('origin_forbidden')
    expect((await gateway.ask({ path: '/healthz', headers: linked })).status).toBe(200)
  })

  it('of an app reaches the application listener with the app’s token, and reads the answer', async () => {
    const answer = await gateway.ask({ path: '/v1/grant', base: app(), token: notes, headers: asPage(notesPage) })
    expect(answer.status).toBe(200)
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': notesPage })
    expect(answer.headers.vary).toMatch(/Origin/)
    for (const name of ['Location', 'RateLimit', 'Retry-After', 'Svc-Version', 'X-Request-Id', 'Idempotency-Replayed'])
      expect(answer.headers['access-control-expose-headers']).toContain(name)
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined()
  })

  it('of an app reads refusals too', async () => {
    for (const [path, code] of [
      ['/v1/nonsense', 'route_not_found'],
      ['/v1/nodes', 'listener_forbidden'],
      ['/v1/grant', 'token_invalid'],
    ] as const) {
      const answer = await gateway.ask({ path, base: app(), token: 'nonsense', headers: asPage(notesPage) })
      expect([answer.body.code, answer.headers['access-control-allow-origin']]).toEqual([code, notesPage])
    }
  })

  it('of one app is refused with the token of another', async () => {
    const { status, body } = await gateway.ask({
      path: '/v1/grant',
      base: app(),
      token: chess,
      headers: asPage(notesPage),
    })
    expect([status, body.code]).toEqual([403, 'origin_forbidden'])
  })

  it('of an app has no way to the owner’s listener, and the owner’s pages none to the other', async () => {
    const owned = await gateway.ask({ path: '/v1/nodes', headers: asPage(notesPage) })
    const other = await gateway.ask({ path: '/v1/health', base: app(), headers: asPage(ownersPage) })
    expect([owned.body.code, other.body.code]).toEqual(['origin_forbidden', 'origin_forbidden'])
    expect((await gateway.ask({ path: '/v1/status', headers: asPage(ownersPage) })).status).toBe(200)
  })

  it('asks first, and hears what it may send', async () => {
    const answer = await gateway.ask({
      method: 'OPTIONS',
      path: '/v1/runs',
      base: app(),
      token: undefined,
      headers: preflight(notesPage, { 'access-control-request-private-network': 'true' }),
    })
    expect([answer.status, answer.body]).toEqual([204, undefined])
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': notesPage,
      'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
      'access-control-max-age': '600',
      'access-control-allow-private-network': 'true',
      vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    })
    for (const name of ['Authorization', 'Content-Type', 'Idempotency-Key', 'Last-Event-ID'])
      expect(answer.headers['access-control-allow-headers']).toContain(name)
    expect(JSON.stringify(answer.headers)).not.toContain('"*"')
  })

  it('that does not ask about a method asks for nothing that there is', async () => {
    const plain = await gateway.ask({ method: 'OPTIONS', path: '/v1/grant', base: app(), headers: asPage(notesPage) })
    expect([plain.status, plain.body.code, plain.headers.allow]).toEqual([404, 'route_not_found', 'GET'])
  })

  it('loses its way within a second of the app’s losing its origin', async () => {
    await register('brief', 'https://brief.example')
    const ask = () => gateway.ask({ path: '/v1/health', base: app(), headers: asPage('https://brief.example') })
    await waitFor(async () => (await ask()).status === 200)
    await gateway.ask({ method: 'PATCH', path: '/v1/apps/brief', body: { origins: [] } })
    await waitFor(async () => (await ask()).status === 403, { timeout: 1500 })
  })

  it('follows a stream across origins', async () => {
    const response = await gateway.open({
      path: `/v1/nodes/${node}/events`,
      token: gateway.token,
      headers: { ...asPage(ownersPage), accept: 'text/event-stream' },
    })
    expect(response.statusCode).toBe(200)
    expect(response.headers).toMatchObject({
      'access-control-allow-origin': ownersPage,
      'content-type': expect.stringContaining('text/event-stream'),
    })
    response.destroy()
  })
})

describe('what no client sends', () => {
  it('a declared body of 1 GB is refused at once, and not before the token is', async () => {
    const post = (headers: string) =>
      say(`POST /v1/nodes HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: 1000000000\r\n\r\n`)
    const mine = `Authorization: Bearer ${gateway.token}\r\nContent-Type: application/json\r\n`
    expect(await post('')).toMatchObject({ status: 401, code: 'token_missing' })
    expect(await post(mine)).toMatchObject({ status: 413, code: 'payload_too_large' })
    expect((await post(`${mine}Expect: 100-continue\r\n`)).head).toMatch(/^HTTP\/1.1 413/)
  })

  it('a body that waits to be asked for is, once token and gate are in order', async () => {
    const patch = (token: string) =>
      say(
        `PATCH /v1/access HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n` +
          'Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}',
      )
    expect((await patch(gateway.token)).head).toBe('HTTP/1.1 100 Continue')
    expect(await patch(notes)).toMatchObject({ status: 403, code: 'owner_required' })
  })

  it('a chunked body is cut at the limit of its route', async () => {
    const socket = connect(portOf('owner'), '127.0.0.1').on('error', () => undefined)
    const answer = text(socket)
    socket.write(
      `PATCH /v1/access HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${gateway.token}\r\n` +
        'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    )
    for (let sent = 0; sent < 20; sent += 1) socket.write(`20000\r\n${'x'.repeat(0x20000)}\r\n`)
    expect(await answer).toMatch(/^HTTP\/1.1 413.*payload_too_large/s)
  })

  it('more than a hundred headers are refused', async () => {
    const headers = (count: number) =>
      `Host: localhost\r\n${Array.from({ length: count }, (_, at) => `X-${at}: a\r\n`).join('')}`
    expect((await say(get('/healthz', headers(90)))).status).toBe(200)
    expect(await say(get('/healthz', headers(150)))).toMatchObject({ status: 413, code: 'headers_too_large' })
    expect(await say(get('/healthz', headers(2500)))).toMatchObject({ status: 413, code: 'headers_too_large' })
  })

  it.each(['TRACE', 'PROPFIND', 'OPTIONS', 'HEAD'])('%s finds no route', async (method) => {
    const { status } = await say(get('/v1/nodes', 'Host: localhost\r\n').replace('GET', method))
    expect(status).toBe(404)
  })

  it('an upgrade is answered as a plain request', async () => {
    const upgrade = 'Host: localhost\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nConnection: Upgrade, '
    expect((await say(`GET /healthz HTTP/1.1\r\n${upgrade}close\r\n\r\n`)).status).toBe(200)
  })

  it('HTTP/1.0 is served where it names its host', async () => {
    expect((await say('GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n')).status).toBe(200)
    expect((await say('GET /healthz HTTP/1.0\r\n\r\n')).code).toBe('malformed_request')
  })
})

describe('the doors', () => {
  it('listen at loopback unless somebody says otherwise', () => {
    const { owner, app: other } = gateway.listeners.main
    for (const { server } of [owner, other]) expect((server.address() as AddressInfo).address).toBe('127.0.0.1')
  })
})
