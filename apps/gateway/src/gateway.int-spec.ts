import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { gatesOf } from '#common/contract/define.js'
import { contract, routes } from '#common/contract/index.js'
import { joinBus } from '#common/testing/bus.js'
import { testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { TestGateway } from './testing/gateway.fixture.js'
import { WireLifecycle } from './testing/wire-lifecycle.fixture.js'

let gateway: TestGateway
let wire: WireLifecycle
let node: string

beforeAll(async () => {
  const { url } = testNats()
  wire = await WireLifecycle.start(url)
  gateway = await TestGateway.start(url, await testDatabase())
  node = wire.create()
})

afterAll(async () => {
  await gateway?.stop()
  await wire?.stop()
})

const pathOf = (path: string): string => path.replace('{id}', node).replace('{provider}', 'openai')
const guarded = routes.filter((entry) => !gatesOf(entry).includes('open'))

describe('a request without a valid token', () => {
  it.each(guarded.map(({ method, path }) => [method as string, path as string]))('%s %s: 401', async (method, path) => {
    const listened = routes.find((entry) => entry.path === path && entry.method === method)?.listeners?.[0]
    const base = gateway.listeners.addresses[listened ?? 'owner']
    const { status, body, headers } = await gateway.ask({ method, path: pathOf(path), token: undefined, base })
    expect([status, body.code]).toEqual([401, 'token_missing'])
    expect(headers['www-authenticate']).toBe('Bearer realm="svc"')
    expect(headers['content-type']).toBe('application/problem+json')
  })

  it('with one wrong letter is refused by its checksum', async () => {
    const token = gateway.token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))
    const { status, body, headers } = await gateway.ask({ path: '/v1/status', token })
    expect([status, body.code]).toEqual([401, 'token_invalid'])
    expect(headers['www-authenticate']).toContain('error="invalid_token"')
  })

  it('is not let in by a token in the address or in the body', async () => {
    const inQuery = await gateway.ask({ path: `/v1/status?access_token=${gateway.token}`, token: undefined })
    const inBody = await gateway.ask({
      method: 'POST',
      path: '/v1/nodes',
      body: { access_token: gateway.token },
      token: undefined,
    })
    expect([inQuery.body.code, inBody.body.code]).toEqual(['token_missing', 'token_missing'])
  })

  it('is refused before its body is read', async () => {
    const { body } = await gateway.ask({ method: 'POST', path: '/v1/nodes', body: '{nonsense', token: undefined })
    expect(body.code).toBe('token_missing')
  })

  it('made by another key is refused', async () => {
    const other = gateway.nodeToken(node).replace('_node_', '_own_')
    expect((await gateway.ask({ path: '/v1/status', token: other })).body.code).toBe('token_invalid')
  })
})

describe('the owner', () => {
  it('has a token in a file that only the owner reads, and its hash is what is kept', async () => {
    expect(statSync(join(gateway.settings.SVC_DATA_DIR, 'owner.token')).mode & 0o777).toBe(0o600)
    const rows = await gateway.database.query<{ row: string }>('SELECT t::text AS row FROM gateway.tokens t')
    expect(rows).toHaveLength(1)
    expect(rows[0]?.row).not.toContain(gateway.token.slice(-40))
  })

  it('reads a node through one call on the bus', async () => {
    const { status, body, headers } = await gateway.ask({
      path: `/v1/nodes/${node}`,
      headers: { 'x-request-id': 'mine-1' },
    })
    expect([status, body.id]).toEqual([200, node])
    expect(headers).toMatchObject({
      'x-request-id': 'mine-1',
      'svc-version': expect.any(String),
      'x-content-type-options': 'nosniff',
    })
    expect(wire.asks('nodes.retrieve').at(-1)?.ctx).toMatchObject({
      actor: { kind: 'owner', scopes: ['*'] },
      requestId: 'mine-1',
    })
  })

  it('is told where what was created stands', async () => {
    const { status, headers, body } = await gateway.ask({
      method: 'POST',
      path: '/v1/nodes',
      body: { prompt: 'x', cwd: '/' },
    })
    expect([status, headers.location]).toEqual([201, `/v1/nodes/${body.id}`])
  })

  it('reaches the daemon by its socket, whose file is private', async () => {
    const { socketPath } = gateway.listeners
    expect(statSync(socketPath).mode & 0o777).toBe(0o600)
    expect((await gateway.ask({ path: '/healthz', token: undefined, socketPath })).body.status).toBe('ok')
  })

  it('reads the status although parts are absent', async () => {
    const { status, body } = await gateway.ask({ path: '/v1/status' })
    expect(status).toBe(200)
    expect(body).toMatchObject({ ready: false, nodes: { active: 1 } })
    expect(body.parts).toContainEqual(expect.objectContaining({ name: 'models', state: 'absent' }))
    expect(body.parts).toContainEqual(expect.objectContaining({ name: 'scheduler', state: 'absent' }))
    expect(body.parts).toContainEqual(expect.objectContaining({ name: 'objects', state: 'absent' }))
    expect(body.parts).toContainEqual(expect.objectContaining({ name: 'lifecycle', state: 'ready' }))
  })

  it('alone is told which receivers take no more, and what was given up', async () => {
    const answer = { version: '1', objects: 3, paused: 1, dead: 4, full: ['builds'], limits: { objects: 20_000 } }
    const objects = await joinBus(testNats().url, 'objects', {
      operations: [contract['objects.status']],
      handlers: { 'objects.status': async () => answer },
    })
    const part = async (token: string) => {
      const { body } = await gateway.ask({ path: '/v1/status', token })
      expect(body.limits.objects).toBe(20_000)
      return body.parts.find(({ name }: { name: string }) => name === 'objects')
    }
    expect(await part(gateway.token)).toEqual({
      name: 'objects',
      state: 'degraded',
      detail:
        'What they watch can publish no more, for too much waits for them: builds. Receivers that were paused after failures: 1. Deliveries that were given up: 4.',
      version: '1',
    })
    expect(await part(gateway.nodeToken(node))).toEqual({ name: 'objects', state: 'ready', detail: null, version: '1' })
    await objects.close()
  })

  it('hears that a service is not there', async () => {
    const { status, body } = await gateway.ask({ path: '/v1/model-config' })
    expect([status, body.code, body.retryable]).toEqual([503, 'service_unavailable', true])
  })
})

describe('the gates', () => {
  it('let a node read, and refuse it what is the owner’s', async () => {
    const token = gateway.nodeToken(node)
    expect((await gateway.ask({ path: `/v1/nodes/${node}`, token })).status).toBe(200)
    expect((await gateway.ask({ path: '/v1/model-auth', token })).body.code).toBe('owner_required')
  })

  it('name the scope that is missing, before they look at path or body', async () => {
    const weak = wire.create(undefined, ['svc:llm'])
    const { status, body, headers } = await gateway.ask({
      method: 'POST',
      path: '/v1/nodes/nonsense/message',
      body: {},
      token: gateway.nodeToken(weak),
    })
    expect([status, body.code, body.scope]).toEqual([403, 'scope_missing', 'svc:act'])
    expect(headers['www-authenticate']).toContain('scope="svc:act"')
  })

  it('keep a node’s own routes from everybody else', async () => {
    const other = gateway.nodeToken(wire.create())
    const ask = (token: string) =>
      gateway.ask({ method: 'POST', path: `/v1/nodes/${node}/mail/claim`, body: {}, token })
    expect((await ask(gateway.token)).body.code).toBe('node_token_required')
    expect((await ask(other)).body.code).toBe('node_token_required')
    expect((await ask(gateway.nodeToken(node))).status).toBe(200)
  })

  it('let only the present generation act for a node, as soon as the next is there', async () => {
    const id = wire.create()
    const claim = (generation: number) =>
      gateway.ask({
        method: 'POST',
        path: `/v1/nodes/${id}/mail/claim`,
        body: {},
        token: gateway.nodeToken(id, generation),
      })
    expect((await claim(1)).status).toBe(200)
    wire.nodes.get(id)!.generation = 2
    // the answer of the writer is still remembered: it must be asked again before the newer one is refused
    expect((await claim(2)).status).toBe(200)
    const { status, body } = await claim(1)
    expect([status, body.code]).toEqual([409, 'stale_generation'])
    expect((await gateway.ask({ path: `/v1/nodes/${id}`, token: gateway.nodeToken(id, 1) })).status).toBe(200)
  })

  it('close to a node that has ended, once its event is heard', async () => {
    const id = wire.create()
    const token = gateway.nodeToken(id)
    expect((await gateway.ask({ path: `/v1/nodes/${id}`, token })).status).toBe(200)
    wire.nodes.get(id)!.ended = true
    wire.record(id, 'node.done')
    const refused = await waitFor(async () => {
      const { body } = await gateway.ask({ path: `/v1/nodes/${id}`, token })
      return body.code === 'token_revoked' && body
    })
    expect(refused.status).toBe(401)
  })

  it('serve an entry on its own listeners alone', async () => {
    const { app } = gateway.listeners.addresses
    const owned = await gateway.ask({ path: '/v1/nodes', base: app })
    expect([owned.status, owned.body.code]).toEqual([403, 'listener_forbidden'])
    expect((await gateway.ask({ path: '/v1/health', base: app, token: undefined })).status).toBe(200)
    expect((await gateway.ask({ path: '/v1/health', token: undefined })).body.code).toBe('listener_forbidden')
  })
})

describe('a request that does not fit', () => {
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    gateway.ask({ method: 'POST', path: '/v1/nodes', body, headers })

  it('is told every fault by its pointer', async () => {
    const { status, body } = await post({ cwd: 'relative', promt: 'x', model: { strength: 'huge', also: 1 } })
    expect([status, body.code]).toEqual([422, 'validation_failed'])
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      '/cwd',
      '/model/also',
      '/model/strength',
      '/prompt',
      '/promt',
    ])
  })

  it('may have no field in its query that the contract lacks', async () => {
    const { status, body } = await gateway.ask({ path: '/v1/nodes?limit=500&colour=red' })
    expect([status, body.errors.map(({ pointer }: { pointer: string }) => pointer).sort()]).toEqual([
      422,
      ['/colour', '/limit'],
    ])
  })

  it('is malformed when it is not JSON, or says that it is something else', async () => {
    const broken = await post('{"prompt": ')
    const text = await post('prompt', { 'content-type': 'text/plain' })
    const polluting = await post('{"prompt":"x","cwd":"/","__proto__":{"a":1}}')
    for (const { status, body } of [broken, text, polluting])
      expect([status, body.code]).toEqual([400, 'malformed_request'])
    expect(JSON.stringify(broken.body)).not.toMatch(/position|token .* in JSON|stack/i)
  })

  it('is refused above the limit of its route, announced or not', async () => {
    const large = JSON.stringify({ prompt: 'x'.repeat(7200 * 1024) })
    const announced = await post(large)
    const chunked = await post(undefined, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
    expect([announced.status, announced.body.code, announced.body.limit]).toEqual([
      413,
      'payload_too_large',
      7 * 1024 * 1024,
    ])
    expect(chunked.body.code).toBe('validation_failed')
  })

  it('is refused with headers that are too large', async () => {
    const { body } = await gateway.ask({ path: '/healthz', headers: { 'x-large': 'x'.repeat(20_000) } })
    expect(body.code).toBe('headers_too_large')
  })

  it('finds no route that the contract lacks, and hears which methods a path has', async () => {
    expect((await gateway.ask({ path: '/v1/nonsense' })).body.code).toBe('route_not_found')
    const { status, body, headers } = await gateway.ask({ method: 'DELETE', path: '/v1/nodes' })
    expect([status, body.code, headers.allow]).toEqual([404, 'route_not_found', 'POST, GET'])
    const unreadable = await gateway.ask({ path: '/v1/nodes/%E0%A4%A' })
    expect(unreadable.body.code).toBe('malformed_request')
    expect(unreadable.headers['x-request-id']).toBe(unreadable.body.request_id)
    expect((await gateway.ask({ path: `/v1/nodes/${'a'.repeat(5000)}` })).body.code).toBe('validation_failed')
  })

  it('says nothing of what failed inside', async () => {
    wire.answers['nodes.retrieve'] = () => {
      throw new Error('secret cause at /some/path')
    }
    const { status, body } = await gateway.ask({ path: `/v1/nodes/${node}` })
    delete wire.answers['nodes.retrieve']
    expect([status, body.code]).toEqual([500, 'internal'])
    expect(JSON.stringify(body)).not.toContain('secret')
  })
})

describe('a browser', () => {
  it('that was told to call this machine by a foreign name is refused', async () => {
    const { status, body } = await gateway.ask({ path: '/healthz', headers: { host: 'attacker.example:7420' } })
    expect([status, body.code]).toEqual([403, 'host_forbidden'])
    expect((await gateway.ask({ path: '/healthz', headers: { host: 'localhost:1' } })).status).toBe(200)
  })

  it('page of any origin is refused on the owner’s listener', async () => {
    for (const origin of ['https://evil.example', 'null', gateway.base]) {
      expect((await gateway.ask({ path: '/healthz', headers: { origin } })).body.code).toBe('origin_forbidden')
    }
  })
})

describe('a request on its way', () => {
  it('carries idempotency key, trace, and the shorter deadline', async () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const before = performance.timeOrigin + performance.now()
    await gateway.ask({
      method: 'POST',
      path: `/v1/nodes/${node}/interrupt`,
      headers: { 'idempotency-key': 'once', traceparent, 'svc-timeout-ms': '2000' },
    })
    const ctx = wire.asks('nodes.interrupt').at(-1)?.ctx
    expect(ctx).toMatchObject({ idempotencyKey: 'once', traceparent })
    expect((ctx?.deadline ?? 0) - before).toBeLessThan(9000)
  })

  it('is told when its answer is that of an earlier one', async () => {
    wire.answers['nodes.interrupt'] = (ctx) => {
      if (ctx.notes) ctx.notes.replayed = true
      return { interrupted: true }
    }
    const { headers } = await gateway.ask({
      method: 'POST',
      path: `/v1/nodes/${node}/interrupt`,
      headers: { 'idempotency-key': 'again' },
    })
    delete wire.answers['nodes.interrupt']
    expect(headers['idempotency-replayed']).toBe('true')
  })

  it('waits as long as Prefer says', async () => {
    wire.answers['nodes.outcome'] = (_ctx, input: object) => input
    const { body } = await gateway.ask({
      path: `/v1/nodes/${node}/outcome`,
      headers: { prefer: 'respond-async, wait=7' },
    })
    delete wire.answers['nodes.outcome']
    expect(body).toEqual({ id: node, wait: 7 })
  })

  it('runs into its own deadline', async () => {
    const { status, body } = await gateway.ask({
      path: `/v1/nodes/${node}/outcome?wait=30`,
      headers: { 'svc-timeout-ms': '50' },
    })
    expect([status, body.code]).toEqual([504, 'deadline_exceeded'])
  })

  it('is given up when its client goes', async () => {
    const before = wire.asks('nodes.outcome').length
    const gone = new AbortController()
    const call = fetch(`${gateway.base}/v1/nodes/${node}/outcome?wait=30`, {
      headers: { authorization: `Bearer ${gateway.token}` },
      signal: gone.signal,
    })
    await waitFor(() => wire.asks('nodes.outcome').length > before)
    expect(gateway.listeners.requestsInHand).toBe(1)
    gone.abort()
    await expect(call).rejects.toThrow()
    await waitFor(() => gateway.listeners.requestsInHand === 0)
  })
})
