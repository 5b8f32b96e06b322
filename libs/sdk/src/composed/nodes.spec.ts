import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { z } from 'zod'
import { cut, json, problem, silence, WireServer } from '../../../../test/support/wire-server.js'
import { Client } from '../client.js'
import { ResultError, TimeoutError } from '../errors.js'

const id = 'node_01jd0000000000000000000000'
const created = json({ id }, 201)
const open = json({ node_id: id, status: 'active', settled: false })
const done = (result?: unknown) => json({ node_id: id, status: 'done', settled: true, error: null, result })
const away = problem(503, { code: 'service_unavailable' }, { 'retry-after': '0' })

describe('composed methods', () => {
  let wire: WireServer
  let client: Client

  beforeAll(async () => {
    wire = await WireServer.start()
    client = new Client({ baseUrl: wire.url })
    jest.spyOn(Math, 'random').mockReturnValue(0)
  })
  afterAll(async () => {
    jest.restoreAllMocks()
    await wire.stop()
  })

  describe('nodes.waitForOutcome', () => {
    it('polls until it is settled, over a restart of the daemon', async () => {
      wire.says(open, cut, cut, away, away, open, done())
      await expect(client.nodes.waitForOutcome(id)).resolves.toMatchObject({ status: 'done' })
      expect(wire.received).toHaveLength(7)
      expect(wire.received[0]?.path).toBe(`/v1/nodes/${id}/outcome?wait=60`)
    })

    it('ends at its limit', async () => {
      wire.says(silence)
      await expect(client.nodes.waitForOutcome(id, { timeout: 40 })).rejects.toThrow(TimeoutError)
    })

    it('throws what trying again will not help', async () => {
      wire.says(problem(404, { code: 'not_found' }))
      await expect(client.nodes.waitForOutcome(id)).rejects.toMatchObject({ code: 'not_found' })
    })
  })

  describe('nodes.waitForStatus', () => {
    const at = (status: string, reached: boolean) => json({ node: { id, status }, reached })

    it('asks until it is reached, over a restart of the daemon', async () => {
      wire.says(at('active', false), cut, away, at('idle', true))
      await expect(client.nodes.waitForStatus(id)).resolves.toMatchObject({ status: 'idle' })
      expect(wire.received.map(({ body }) => body)).toEqual(Array(4).fill({ timeout: 60 }))
    })

    it('waits for what it was told to, and ends at its limit', async () => {
      wire.says(at('done', true), silence)
      await client.nodes.waitForStatus(id, ['done', 'dead'])
      expect(wire.received[0]?.body).toEqual({ timeout: 60, status: ['done', 'dead'] })
      await expect(client.nodes.waitForStatus(id, undefined, { timeout: 40 })).rejects.toThrow(TimeoutError)
    })
  })

  it('nodes.wait goes on over a restart of the daemon', async () => {
    wire.says(cut, away, away, cut, json({ node: { id }, reached: true }))
    await expect(client.nodes.wait(id, { timeout: 5 })).resolves.toMatchObject({ reached: true })
    expect(new Set(wire.received.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
  })

  it('nodes.createAndWait creates once and waits', async () => {
    wire.says(created, done())
    const outcome = await client.nodes.createAndWait({ prompt: 'x' }, { headers: { 'Idempotency-Key': 'k' } })
    expect(outcome.node_id).toBe(id)
    expect(wire.received.map(({ method, headers }) => [method, headers['idempotency-key']])).toEqual([
      ['POST', 'k'],
      ['GET', undefined],
    ])
  })

  it('nodes.createAndWait makes a terminal node unless told otherwise', async () => {
    wire.says(created, done(), created, done())
    await client.nodes.createAndWait({ prompt: 'x' })
    await client.nodes.createAndWait({ prompt: 'x', lifecycle: 'resident' })
    const posted = wire.received.filter(({ method }) => method === 'POST')
    expect(posted.map(({ body }) => body)).toMatchObject([{ lifecycle: 'terminal' }, { lifecycle: 'resident' }])
  })

  describe('nodes.parse', () => {
    const shape = z.object({ count: z.number().int(), at: z.string().transform((text) => text.length) })

    it('asks for the schema and gives the typed result', async () => {
      wire.says(created, done({ count: 3, at: 'here' }))
      const result = await client.nodes.parse({ prompt: 'x' }, shape)
      const typed: { count: number; at: number } = result
      expect(typed).toEqual({ count: 3, at: 4 })
      expect(wire.received[0]?.body).toMatchObject({
        prompt: 'x',
        result_schema: { type: 'object', properties: { count: { type: 'integer' }, at: { type: 'string' } } },
      })
    })

    it('takes a plain JSON Schema', async () => {
      wire.says(created, done([1]))
      expect(await client.nodes.parse<number[]>({ prompt: 'x' }, { type: 'array' })).toEqual([1])
      expect(wire.received[0]?.body).toMatchObject({ result_schema: { type: 'array' } })
    })

    it('says how a node ended that gave none', async () => {
      wire.says(
        created,
        json({ node_id: id, status: 'dead', settled: true, error: { kind: 'auth', message: 'no key' } }),
      )
      const failure = client.nodes.parse({ prompt: 'x' }, shape)
      await expect(failure).rejects.toThrow(ResultError)
      await expect(failure).rejects.toMatchObject({ code: 'no_result', fields: { outcome: { status: 'dead' } } })
    })

    it('refuses a result that does not fit, naming the field', async () => {
      wire.says(created, done({ count: 'three', at: 'here' }))
      await expect(client.nodes.parse({ prompt: 'x' }, shape)).rejects.toMatchObject({
        code: 'no_result',
        errors: [{ pointer: '/count' }],
      })
    })
  })

  it('canvas.dashboard joins nodes and status', async () => {
    const page = { data: [], next_cursor: null, has_more: false }
    wire.says((response, request) =>
      json(request.path.startsWith('/v1/nodes') ? page : { ready: true })(response, request),
    )
    expect(await client.canvas.dashboard({ status: 'active' })).toEqual({ nodes: page, status: { ready: true } })
    expect(wire.received.map(({ path }) => path).sort()).toEqual(['/v1/nodes?status=active', '/v1/status'])
  })

  it('auth.status asks for readiness only once the daemon is ready', async () => {
    wire.says(json({ ready: false }))
    expect(await client.auth.status()).toEqual({ status: { ready: false }, readiness: null })
    expect(wire.only.path).toBe('/v1/status')
    wire.says(json({ ready: true }), json({ ready: false, remedy: 'add one' }))
    expect(await client.auth.status()).toMatchObject({ readiness: { remedy: 'add one' } })
    expect(wire.received[1]?.path).toBe('/v1/model-auth/readiness')
  })
})
