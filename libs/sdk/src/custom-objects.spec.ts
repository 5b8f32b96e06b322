import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { cut, events, json, problem, type Sent, WireServer } from '../../../test/support/wire-server.js'
import { Client } from './client.js'
import type { Delivery, ObjectBody, WatchBody } from './index.js'

const ref = 'build-server'
const node = 'node_01jd0000000000000000000000'
const ids = ['dlv_01jd0000000000000000000000', 'dlv_01jd0000000000000000000001']
const page = { data: [], next_cursor: null, has_more: false }
/** As the daemon says it when the object is deleted. */
const over: Sent = {
  event: 'error',
  data: { code: 'not_found', status: 404, detail: 'There is no object build-server.', retryable: false },
}
const deliveries = (...seqs: number[]): Sent[] =>
  seqs.map((seq) => ({ id: String(seq), event: 'delivery', data: { seq } }))

describe('custom objects', () => {
  let wire: WireServer
  let client: Client

  beforeAll(async () => {
    wire = await WireServer.start()
    client = new Client({ baseUrl: wire.url, token: 'svc_own_x' })
    jest.spyOn(Math, 'random').mockReturnValue(0)
  })
  afterAll(async () => {
    jest.restoreAllMocks()
    await wire.stop()
  })

  it.each<[string, (client: Client) => PromiseLike<unknown>, string, string, unknown]>([
    ['list', (c) => c.customObjects.list({ limit: 5 }), 'GET', '?limit=5', undefined],
    ['retrieve', (c) => c.customObjects.retrieve(ref), 'GET', `/${ref}`, undefined],
    ['update', (c) => c.customObjects.update(ref, { force: true }), 'PATCH', `/${ref}`, { force: true }],
    [
      'rotate',
      (c) => c.customObjects.rotate(ref, { what: 'signing_secret', overlap: 60 }),
      'POST',
      `/${ref}/rotate`,
      { what: 'signing_secret', overlap: 60 },
    ],
    ['unregister', (c) => c.customObjects.unregister(ref), 'DELETE', `/${ref}`, undefined],
    ['ack', (c) => c.customObjects.ack(ref, ids), 'POST', `/${ref}/ack`, { ids }],
    ['ack, as the route has it', (c) => c.customObjects.ack(ref, { ids }), 'POST', `/${ref}/ack`, { ids }],
    ['pause', (c) => c.customObjects.pause(ref), 'POST', `/${ref}/pause`, undefined],
    ['resume', (c) => c.customObjects.resume(ref), 'POST', `/${ref}/resume`, undefined],
    [
      'deliveries.list',
      (c) => c.customObjects.deliveries.list(ref, { state: 'dead' }),
      'GET',
      `/${ref}/deliveries?state=dead`,
      undefined,
    ],
    [
      'deliveries.replay',
      (c) => c.customObjects.deliveries.replay(ref, { ids }),
      'POST',
      `/${ref}/deliveries/replay`,
      { ids },
    ],
    ['events.list', (c) => c.customObjects.events.list(ref), 'GET', `/${ref}/events`, undefined],
    ['types', (c) => c.customObjects.types(ref), 'GET', `/${ref}/types`, undefined],
    ['asyncapi', (c) => c.customObjects.asyncapi(ref), 'GET', `/${ref}/asyncapi`, undefined],
  ])('%s', async (_, ask, method, path, body) => {
    wire.says(json(page))
    await ask(client)
    expect(wire.only).toMatchObject({ method, path: `/v1/custom-objects${path}` })
    expect(wire.only.body).toEqual(body)
  })

  it('are registered and publish with a key of their own, so that a repetition does nothing more', async () => {
    const body = {
      name: ref,
      catalog: [{ event: 'build.failed', payload_schema: { type: 'object' } }],
      receiver: { type: 'url', url: 'https://ci.example/hook' },
      watches: [{ source: 'mailbox' }],
    } satisfies ObjectBody
    wire.says(cut, json({ name: ref, publish_token: null }, 201))
    expect((await client.customObjects.register(body)).publish_token).toBeNull()
    const keys = wire.received.map(({ headers }) => headers['idempotency-key'])
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), keys[0]])
    expect(wire.received[1]).toMatchObject({ method: 'POST', path: '/v1/custom-objects', body })

    const event = { event: 'build.failed', payload: { id: 7 }, dedupe_key: 'build-7' }
    wire.says(json({ event_id: 'evt_x', seq: 1, duplicate: false }, 202))
    expect((await client.customObjects.publish(ref, event)).seq).toBe(1)
    expect(wire.only).toMatchObject({ method: 'POST', path: `/v1/custom-objects/${ref}/publish`, body: event })
    expect(wire.only.headers['idempotency-key']).toBeDefined()
    wire.says(json({ data: [] }, 202))
    await client.customObjects.publishBatch(ref, { events: [event] })
    expect(wire.only).toMatchObject({ path: `/v1/custom-objects/${ref}/publish-batch`, body: { events: [event] } })
  })

  it('are watched, by nodes and by objects', async () => {
    wire.says(json({ watcher: node }))
    const body: WatchBody = { watcher: node, source: ref, events: ['build.failed'], tier: 'urgent' }
    await client.canvas.watches.put(body)
    expect(wire.only).toMatchObject({ method: 'PUT', path: '/v1/canvas/watches', body })
    wire.says(json(page))
    await client.canvas.watches.list({ source: ref })
    expect(wire.only.path).toBe(`/v1/canvas/watches?source=${ref}`)
    wire.says(json({ removed: true }))
    await client.canvas.watches.delete({ watcher: node, source: ref })
    expect(wire.only).toMatchObject({ method: 'DELETE', path: `/v1/canvas/watches?watcher=${node}&source=${ref}` })
  })

  describe('receive', () => {
    const seqsOf = async (stream: AsyncIterable<Delivery>, seqs: number[] = []): Promise<number[]> => {
      for await (const { seq } of stream) seqs.push(seq)
      return seqs
    }
    const untilDeleted = async (stream: AsyncIterable<Delivery>): Promise<number[]> => {
      const seqs: number[] = []
      await expect(seqsOf(stream, seqs)).rejects.toMatchObject({ code: 'not_found' })
      return seqs
    }
    const positions = () => wire.received.map(({ headers }) => headers['last-event-id'])

    it('gives all that each connection begins with, also what was given before, and names no position', async () => {
      const draining: Sent = { event: 'end', data: { type: 'end', reason: 'draining' } }
      wire.says(
        events(deliveries(1, 2, 3), 'breaks'),
        problem(503, { code: 'service_unavailable' }, { 'retry-after': '0' }),
        cut,
        events([...deliveries(2, 3, 4), draining]),
        events([...deliveries(2, 5), over]),
      )
      const stream = client.customObjects.receive(ref)
      expect(await untilDeleted(stream)).toEqual([1, 2, 3, 2, 3, 4, 2, 5])
      expect(positions()).toEqual(Array(5).fill(undefined))
      expect(wire.received[0]).toMatchObject({
        path: `/v1/custom-objects/${ref}/receive`,
        headers: { accept: 'text/event-stream' },
      })
      expect([stream.lastEventId, stream.ended]).toEqual(['5', undefined])
    })

    // With the caller's own position on every connect, what it has acknowledged meanwhile would come again.
    it('goes on behind the farthest delivery where the caller named a position, never before it', async () => {
      wire.says(
        events(deliveries(2, 7, 8), 'breaks'),
        events(deliveries(2), 'breaks'),
        events([...deliveries(2, 9), over]),
      )
      const stream = client.customObjects.receive(ref, { after: 6 })
      expect(await untilDeleted(stream)).toEqual([2, 7, 8, 2, 2, 9])
      expect(positions()).toEqual(['6', '8', '8'])
      wire.says(events([...deliveries(1), over]))
      expect(await untilDeleted(client.customObjects.receive(ref, { after: 0 }))).toEqual([1])
      expect(positions()).toEqual(['0'])
    })

    it('ends with the reason of the caller who aborts, and gives up on what trying again will not help', async () => {
      const controller = new AbortController()
      const reason = new Error('enough')
      wire.says(events(deliveries(1), 'stays'))
      const read = async () => {
        for await (const _ of client.customObjects.receive(ref, { signal: controller.signal })) controller.abort(reason)
      }
      await expect(read()).rejects.toBe(reason)
      wire.says(problem(409, { code: 'receiver_unfit', detail: 'no' }))
      await expect(seqsOf(client.customObjects.receive(ref))).rejects.toMatchObject({ code: 'receiver_unfit' })
      expect(wire.received).toHaveLength(1)
      const unfit: Sent = { event: 'error', data: { code: 'receiver_unfit', status: 409, retryable: false } }
      wire.says(events([...deliveries(1), unfit]))
      await expect(seqsOf(client.customObjects.receive(ref))).rejects.toMatchObject({ code: 'receiver_unfit' })
      expect(wire.received).toHaveLength(1)
    })
  })
})
