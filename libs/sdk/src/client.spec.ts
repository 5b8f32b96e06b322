import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { cut, empty, json, problem, silence, WireServer } from '../../../test/support/wire-server.js'
import { Client } from './client.js'
import { ConnectionError, ResponseError, TimeoutError } from './errors.js'

const id = 'node_01jd0000000000000000000000'
const busy = problem(503, { code: 'service_unavailable', retryable: true }, { 'retry-after': '0' })

describe('client', () => {
  let wire: WireServer
  let client: Client

  beforeAll(async () => {
    wire = await WireServer.start()
    client = new Client({ baseUrl: `${wire.url}/`, token: 'svc_own_x' })
    jest.spyOn(Math, 'random').mockReturnValue(0)
  })
  afterEach(() => {
    delete process.env.SVC_BASE_URL
    delete process.env.SVC_TOKEN
  })
  afterAll(async () => {
    jest.restoreAllMocks()
    await wire.stop()
  })

  it('sends method, path, query, body and token as the contract says', async () => {
    wire.says(json({ id }, 201))
    await client.nodes.create({ prompt: 'hello', cwd: '/tmp' })
    expect(wire.only).toMatchObject({ method: 'POST', path: '/v1/nodes', body: { prompt: 'hello', cwd: '/tmp' } })
    expect(wire.only.headers).toMatchObject({ authorization: 'Bearer svc_own_x', 'content-type': 'application/json' })

    wire.says(json({ settled: true }))
    await client.nodes.outcome(id, { wait: 5 }, { headers: { 'X-Request-Id': 'mine' } })
    expect(wire.only.path).toBe(`/v1/nodes/${id}/outcome?wait=5`)
    expect(wire.only.headers['x-request-id']).toBe('mine')

    wire.says(empty())
    await expect(client.models.credentials.remove('openai')).resolves.toBeUndefined()
    expect(wire.only).toMatchObject({ method: 'DELETE', path: '/v1/model-auth/openai' })
  })

  it('takes address and token from the environment unless they are given', async () => {
    Object.assign(process.env, { SVC_BASE_URL: wire.url, SVC_TOKEN: 'from-env' })
    wire.says(json({ status: 'ok' }))
    await new Client().system.health()
    expect(wire.only.headers.authorization).toBe('Bearer from-env')
    expect(() => new Client({ baseUrl: 'ftp://x' })).toThrow(TypeError)
  })

  it.each([408, 429, 500, 502, 503, 504, 507])('tries again after %i', async (status) => {
    wire.says(problem(status, {}, { 'retry-after': '0' }), json({ id }))
    await expect(client.nodes.retrieve(id)).resolves.toEqual({ id })
    expect(wire.received).toHaveLength(2)
  })

  it.each([
    [409, { code: 'illegal_transition' }],
    [422, { code: 'validation_failed' }],
    [401, { code: 'token_invalid' }],
    [429, { code: 'quota_exceeded', retryable: false }],
    [503, { code: 'model_not_configured', retryable: false }],
  ])('does not try again after %i %j', async (status, fields) => {
    wire.says(problem(status, fields))
    await expect(client.nodes.retrieve(id)).rejects.toMatchObject({ status, code: fields.code })
    expect(wire.received).toHaveLength(1)
  })

  it('tries again after a conflict that says so, and after a broken connection', async () => {
    wire.says(problem(409, { code: 'version_conflict', retryable: true }), cut, json({ id }))
    await expect(client.nodes.retrieve(id)).resolves.toEqual({ id })
    expect(wire.received).toHaveLength(3)
  })

  it('gives up after maxRetries, of the call or of the client', async () => {
    wire.says(busy)
    await expect(client.nodes.retrieve(id)).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(wire.received).toHaveLength(3)
    wire.says(busy)
    await expect(client.nodes.retrieve(id, { maxRetries: 0 })).rejects.toMatchObject({ code: 'service_unavailable' })
    expect(wire.received).toHaveLength(1)
    wire.says(cut)
    await expect(new Client({ baseUrl: wire.url, maxRetries: 1 }).system.health()).rejects.toThrow(ConnectionError)
    expect(wire.received).toHaveLength(2)
  })

  it('repeats a creation under the same idempotency key, and the next one under another', async () => {
    wire.says(busy, cut, json({ id }, 201))
    await client.nodes.create({ prompt: 'x' })
    const keys = wire.received.map(({ headers }) => headers['idempotency-key'])
    expect(keys).toHaveLength(3)
    expect(new Set(keys).size).toBe(1)
    wire.says(json({ id }, 201))
    await client.nodes.create({ prompt: 'x' })
    expect(wire.only.headers['idempotency-key']).not.toBe(keys[0])
    wire.says(json({ id }, 201))
    await client.nodes.create({ prompt: 'x' }, { headers: { 'Idempotency-Key': 'mine' } })
    expect(wire.only.headers['idempotency-key']).toBe('mine')
  })

  it('ends a call at its time limit with a typed error, and tells the daemon the limit', async () => {
    wire.says(silence)
    const call = client.nodes.retrieve(id, { timeout: 50 })
    await expect(call).rejects.toThrow(TimeoutError)
    await expect(call).rejects.toMatchObject({ code: 'timeout', kind: 'timeout', retryable: true })
    expect(Number(wire.only.headers['svc-timeout-ms'])).toBeGreaterThan(0)
    expect(Number(wire.only.headers['svc-timeout-ms'])).toBeLessThanOrEqual(50)
  })

  // The client gave up after its usual minute, and the daemon ended the command with it.
  it('gives a shell command the time that it asks for', async () => {
    const patience = async (timeout: number | undefined): Promise<number> => {
      wire.says(json({}))
      await client.bash.run({ cwd: '/', command: 'true', ...(timeout !== undefined && { timeout }) })
      return Number(wire.received.at(-1)?.headers['svc-timeout-ms'])
    }
    expect(await patience(600_000)).toBeGreaterThan(600_000)
    expect(await patience(undefined)).toBeGreaterThan(120_000)
    expect(await patience(10)).toBeLessThanOrEqual(60_000)
  })

  it('answers the failure at once when the daemon asks to wait beyond the limit', async () => {
    wire.says(problem(429, { code: 'rate_limited', retryable: true }, { 'retry-after': '120' }))
    await expect(client.nodes.retrieve(id)).rejects.toMatchObject({ code: 'rate_limited', retryAfter: 120_000 })
    expect(wire.received).toHaveLength(1)
  })

  it('stops when the caller aborts, during the request and between attempts', async () => {
    const reason = new Error('enough')
    const first = new AbortController()
    wire.says(() => first.abort(reason))
    await expect(client.nodes.retrieve(id, { signal: first.signal })).rejects.toBe(reason)
    const second = new AbortController()
    wire.says((response, request) => {
      problem(503, { code: 'not_leader' }, { 'retry-after': '30' })(response, request)
      response.on('close', () => second.abort(reason))
    })
    await expect(client.nodes.retrieve(id, { signal: second.signal })).rejects.toBe(reason)
    await expect(client.nodes.retrieve(id, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(wire.received).toHaveLength(1)
  })

  it('says that something else listens when the answer is no JSON', async () => {
    wire.says((response) => response.end('<html>'))
    await expect(client.system.status()).rejects.toThrow(ResponseError)
  })

  it.each([
    ['a redirect', (response: ServerResponse) => response.writeHead(307, { location: '/elsewhere' })],
    ['no stream', (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/html' })],
  ])('lets go of an answer that is %s, however long that goes on', async (_, begin) => {
    const left: Promise<unknown>[] = []
    // held here, or the garbage collector would let go of them
    const kept: Response[] = []
    const keeping: typeof fetch = async (...asked) => {
      kept.push(await fetch(...asked))
      return kept.at(-1) as Response
    }
    wire.says((response) => {
      left.push(once(response, 'close'))
      begin(response).write('and so on')
    })
    const reading = new Client({ baseUrl: wire.url, fetch: keeping })
    const events = reading.stream('GET', '/v1/canvas/events', undefined, { maxRetries: 0 })
    await expect(events[Symbol.asyncIterator]().next()).rejects.toThrow(ResponseError)
    await Promise.all(left)
    expect([left.length, kept.length]).toEqual([1, 1])
  })

  describe('its token', () => {
    it.each([301, 302, 303, 307, 308])('goes nowhere else when an answer %i says so', async (status) => {
      const other = (await WireServer.start()).says(json({}))
      wire.says((response) => response.writeHead(status, { location: `${other.url}/v1/status` }).end())
      await expect(client.request('GET', '/v1/status')).rejects.toThrow(ResponseError)
      await expect(client.tokens.create({ app: 'x' })).rejects.toThrow(/token must not go along/)
      const stream = async () => {
        for await (const _ of client.stream('GET', '/v1/canvas/events')) break
      }
      await expect(stream()).rejects.toThrow(ResponseError)
      expect([wire.received.length, other.received.length]).toEqual([3, 0])
      await other.stop()
    })

    // A browser hides where an answer that it did not follow points to, and its status.
    it('goes nowhere else in a browser either', async () => {
      const hidden = { type: 'opaqueredirect', status: 0, ok: false } as Response
      const browser = new Client({ baseUrl: wire.url, fetch: async () => hidden })
      await expect(browser.system.status()).rejects.toThrow(ResponseError)
    })

    it('stands in no error, and in nothing that a client prints of itself', async () => {
      const secret = new Client({ baseUrl: 'http://127.0.0.1:9', token: 'svc_own_secret', maxRetries: 0 })
      const failed = await secret.system.status().catch((error: unknown) => error)
      wire.says(problem(403, { code: 'scope_missing', detail: 'no' }))
      const refused = await new Client({ baseUrl: wire.url, token: 'svc_own_secret' }).system
        .status()
        .catch((error: unknown) => error)
      for (const thing of [secret, failed, refused]) {
        expect(inspect(thing, { depth: 10, showHidden: true }) + JSON.stringify(thing)).not.toContain('secret')
      }
    })

    it('is not taken from an address, which is printed', () => {
      expect(() => new Client({ baseUrl: 'http://me:secret@127.0.0.1:1' })).toThrow(/^(?!.*secret).*`token`$/)
    })
  })

  describe('request', () => {
    it('reaches any route with the same token, retries and errors', async () => {
      wire.says(busy, json({ next_ord: 3 }))
      const answer = await client.request<{ next_ord: number }>('POST', `/v1/nodes/${id}/broker/journal`, { from: 1 })
      expect(answer.next_ord).toBe(3)
      expect(wire.received[1]).toMatchObject({
        method: 'POST',
        body: { from: 1 },
        headers: { authorization: 'Bearer svc_own_x' },
      })
    })

    it.each([
      'https://elsewhere.test/v1/x',
      '//elsewhere.test/v1',
      '/\\elsewhere.test',
      'v1/nodes',
      '',
      '.elsewhere.test/',
      '@elsewhere.test/',
    ])('refuses %j before anything is sent', async (path) => {
      wire.says(json({}))
      await expect(client.request('GET', path)).rejects.toThrow(TypeError)
      const stream = async () => {
        for await (const _ of client.stream('GET', path)) break
      }
      await expect(stream()).rejects.toThrow(TypeError)
      expect(wire.received).toHaveLength(0)
    })
  })
})
