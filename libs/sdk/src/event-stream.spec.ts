import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { cut, empty, end, events, json, problem, type Sent, WireServer } from '../../../test/support/wire-server.js'
import { Client } from './client.js'
import { ConnectionError, GoneError } from './errors.js'
import type { NodeEvent } from './generated/types.js'

const id = 'node_01jd0000000000000000000000'
const numbered = (...seqs: number[]): Sent[] =>
  seqs.map((seq) => ({ id: String(seq), event: 'turn.started', data: { seq } }))
const seqsOf = async (stream: AsyncIterable<NodeEvent>): Promise<number[]> => {
  const seqs: number[] = []
  for await (const { seq } of stream) seqs.push(seq)
  return seqs
}

describe('event streams', () => {
  let wire: WireServer
  let client: Client

  beforeAll(async () => {
    wire = await WireServer.start()
    client = new Client({ baseUrl: wire.url, token: 't' })
    jest.spyOn(Math, 'random').mockReturnValue(0)
  })
  afterAll(async () => {
    jest.restoreAllMocks()
    await wire.stop()
  })

  it('give each event once, in order, over broken connections, refusals and repetitions', async () => {
    wire.says(
      events(numbered(1, 2, 3), 'breaks'),
      problem(503, { code: 'service_unavailable' }, { 'retry-after': '0' }),
      cut,
      events(numbered(2, 3, 4), 'ends'),
      events([]),
      events([...numbered(4, 5), end]),
    )
    const stream = client.nodes.events(id)
    expect(await seqsOf(stream)).toEqual([1, 2, 3, 4, 5])
    expect(stream.ended).toEqual({ reason: 'settled' })
    expect(stream.lastEventId).toBe('5')
    const asked = wire.received.map(({ headers }) => headers['last-event-id'])
    expect(asked).toEqual([undefined, '3', '3', '3', '4', '4'])
    expect(wire.received[0]?.headers).toMatchObject({ accept: 'text/event-stream', authorization: 'Bearer t' })
  })

  it('go on after the event that the caller names', async () => {
    wire.says(events([...numbered(7, 8), end]))
    expect(await seqsOf(client.nodes.events(id, {}, { after: '7' }))).toEqual([8])
    expect(wire.only.headers['last-event-id']).toBe('7')
    wire.says(events([...numbered(8), end]))
    await seqsOf(client.nodes.events(id, { after: '7', limit: 10 }))
    expect(wire.only).toMatchObject({ path: `/v1/nodes/${id}/events?limit=10`, headers: { 'last-event-id': '7' } })
  })

  it.each([
    ['token_revoked', 'UnauthenticatedError', 401],
    ['token_expired', 'UnauthenticatedError', 401],
    ['grant_revoked', 'ForbiddenError', 403],
    ['scope_missing', 'ForbiddenError', 403],
  ])('throw what the next request would be refused with when %s ends them', async (reason, name, status) => {
    wire.says(events([...numbered(1), { event: 'end', data: { type: 'end', reason } }]))
    const seen: number[] = []
    const read = async () => {
      for await (const { seq } of client.nodes.events(id)) seen.push(seq)
    }
    await expect(read()).rejects.toMatchObject({ code: reason, name, status })
    expect([seen, wire.received.length]).toEqual([[1], 1])
  })

  it('come back to a daemon that restarts', async () => {
    const draining = { event: 'end', data: { type: 'end', reason: 'draining' } }
    wire.says(events([...numbered(1), draining]), cut, events([...numbered(2), end]))
    expect(await seqsOf(client.nodes.events(id))).toEqual([1, 2])
  })

  it('come back after an overflow', async () => {
    wire.says(
      events([...numbered(1), { event: 'overflow', data: { reason: 'slow_client' } }], 'stays'),
      events([...numbered(2), end]),
    )
    expect(await seqsOf(client.nodes.events(id))).toEqual([1, 2])
  })

  it('let deltas and snapshots through, which share or repeat ids', async () => {
    const items: Sent[] = [
      { id: '3', event: 'snapshot', data: { type: 'snapshot', data: {} } },
      { id: '3', event: 'message.snapshot', data: { type: 'message.snapshot', data: {} } },
      { id: '3.1.2.0', event: 'delta', data: { type: 'delta', data: { text: 'a' } } },
      { id: '3.1.2.0', event: 'delta', data: { type: 'delta', data: { text: 'b' } } },
    ]
    wire.says(events(items, 'breaks'), events([...items.slice(0, 2), end]))
    const types: string[] = []
    for await (const { type } of client.nodes.stream(id, { tree: true })) types.push(type)
    expect(types).toEqual(['snapshot', 'message.snapshot', 'delta', 'delta', 'snapshot', 'message.snapshot'])
    expect(wire.received[1]).toMatchObject({
      path: `/v1/nodes/${id}/stream?tree=true`,
      headers: { 'last-event-id': '3.1.2.0' },
    })
  })

  it('go on from a position that came without an event', async () => {
    wire.says(
      events(
        [{ id: 'bmFtZS4x' }, { id: 'bmFtZS4y', event: 'turn.started', data: { seq: 1 } }, { id: 'bmFtZS4z' }],
        'breaks',
      ),
      events([{ id: 'bmFtZS40' }, end]),
    )
    const stream = client.canvas.events()
    expect(await seqsOf(stream)).toEqual([1])
    expect(wire.received.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'bmFtZS4z'])
    expect(stream.lastEventId).toBe('bmFtZS40')
  })

  it('throw what trying again will not help', async () => {
    wire.says(problem(410, { code: 'cursor_expired', oldest: '40' }))
    await expect(seqsOf(client.nodes.events(id))).rejects.toThrow(GoneError)
    wire.says(events([...numbered(1), { event: 'error', data: { status: 404, code: 'not_found' } }]))
    await expect(seqsOf(client.nodes.events(id))).rejects.toMatchObject({ code: 'not_found', status: 404 })
    expect(wire.received).toHaveLength(1)
  })

  it('give up after so many failures in a row, and an event starts the count anew', async () => {
    wire.says(cut, events(numbered(1), 'breaks'), cut)
    await expect(seqsOf(client.nodes.events(id, {}, { maxRetries: 2 }))).rejects.toThrow(ConnectionError)
    expect(wire.received).toHaveLength(4)
  })

  it("keep to the client's own number of retries", async () => {
    wire.says(cut, cut, cut)
    const hasty = new Client({ baseUrl: wire.url, maxRetries: 1 })
    await expect(seqsOf(hasty.nodes.events(id))).rejects.toThrow(ConnectionError)
    expect(wire.received).toHaveLength(2)
  })

  // Nothing is read while the caller works on an event; that was taken for a dead connection.
  it('give the caller all the time that it needs for an event', async () => {
    jest.useFakeTimers({ doNotFake: ['setTimeout', 'setImmediate', 'nextTick', 'performance', 'queueMicrotask'] })
    let goOn: (() => void) | undefined
    wire.says((response, request) => {
      events(numbered(1), 'stays')(response, request)
      goOn = () => void response.end('id: 2\nevent: turn.started\ndata: {"seq":2}\n\nevent: end\ndata: {}\n\n')
    })
    const seqs: number[] = []
    for await (const { seq } of client.nodes.events(id, {}, { maxRetries: 0 })) {
      seqs.push(seq)
      if (seq === 1) {
        jest.advanceTimersByTime(120_000)
        goOn?.()
      }
    }
    jest.useRealTimers()
    expect(seqs).toEqual([1, 2])
  })

  it('close the connection when the loop is left', async () => {
    const closed = new Promise<void>((resolve) => {
      wire.says((response, request) => {
        response.on('close', resolve)
        events(numbered(1, 2), 'stays')(response, request)
      })
    })
    for await (const { seq } of client.nodes.events(id)) if (seq === 2) break
    await closed
    expect(wire.received).toHaveLength(1)
  })

  it('end with the reason of the caller who aborts', async () => {
    wire.says(events(numbered(1), 'stays'))
    const controller = new AbortController()
    const reason = new Error('enough')
    const read = async () => {
      for await (const _ of client.nodes.events(id, {}, { signal: controller.signal })) controller.abort(reason)
    }
    await expect(read()).rejects.toBe(reason)
    expect(wire.received).toHaveLength(1)
  })

  it('read what is recorded by pages', async () => {
    wire.says(
      json({ data: [{ seq: 1 }], next_cursor: 'c', has_more: true }),
      json({ data: [{ seq: 2 }], next_cursor: null, has_more: false }),
    )
    expect(await seqsOf(client.nodes.events(id).recorded())).toEqual([1, 2])
    expect(wire.received[1]).toMatchObject({
      path: `/v1/nodes/${id}/events?after=c`,
      headers: { accept: 'application/json' },
    })
  })

  describe('of any route', () => {
    it('are read by method and path', async () => {
      wire.says(events([{ data: { type: 'mail' } }, end]))
      const items: unknown[] = []
      for await (const item of client.stream('GET', `/v1/nodes/${id}/broker/signals`)) items.push(item)
      expect(items).toEqual([{ type: 'mail' }])
    })

    it('are not asked for twice where that is no mere reading, unless they were refused', async () => {
      const busy = problem(503, { code: 'not_leader' }, { 'retry-after': '0' })
      wire.says(busy, events([{ data: { type: 'text' } }], 'breaks'))
      const read = async () => {
        for await (const _ of client.stream('POST', '/v1/llm', { messages: [] }));
      }
      await expect(read()).rejects.toThrow(ConnectionError)
      expect(wire.received).toHaveLength(2)
      expect(wire.received[1]).toMatchObject({ method: 'POST', body: { messages: [] } })
    })

    it('refuse an address of another host and an answer that is no stream', async () => {
      const read = async (path: string) => {
        for await (const _ of client.stream('GET', path));
      }
      await expect(read('//elsewhere.test')).rejects.toThrow(TypeError)
      wire.says(empty(200))
      await expect(read('/v1/x')).rejects.toMatchObject({ code: 'malformed_response' })
    })
  })
})
