import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { joinBus, type PeerOptions, type TestPeer } from '../../testing/bus.js'
import { testNats } from '../../testing/nats.js'
import { waitFor } from '../../testing/wait-for.js'
import { systemClock } from '../clock.js'
import type { Context } from '../context.js'
import { SvcError } from '../errors.js'
import { subjects } from '../subjects.js'
import { asked, failure, gate, probe } from './bus.fixture.js'
import { type Answer, decode, encode } from './codec.js'

let gateway: TestPeer
const peers: TestPeer[] = []

const serve = async (options: PeerOptions, service: 'lifecycle' | 'host' = 'lifecycle'): Promise<TestPeer> => {
  const peer = await joinBus(testNats().url, service, options)
  peers.push(peer)
  return peer
}

const serveWait = (method: (ctx: Context) => unknown, more: PeerOptions = {}): Promise<TestPeer> =>
  serve({ operations: [probe.wait], handlers: { 'probe.wait': method }, ...more })

const serveEcho = (method = async (_ctx: Context, input: unknown): Promise<unknown> => input): Promise<TestPeer> =>
  serve({ operations: [probe.echo], handlers: { 'probe.echo': method } })

beforeAll(async () => {
  gateway = await joinBus(testNats().url, 'gateway', { rights: 'all' })
})

afterAll(() => gateway.close())

afterEach(async () => {
  await Promise.all(peers.splice(0).map((peer) => peer.close()))
  expect(gateway.inbox.size).toBe(0)
})

describe('call', () => {
  it('answers with what the handler returns', async () => {
    await serveEcho()
    expect(await gateway.bus.call(probe.echo, asked(), { text: 'naïve', times: 2 })).toEqual({
      text: 'naïve',
      times: 2,
    })
  })

  it("fills in an internal operation's defaults at the server", async () => {
    await serveEcho()
    expect(await gateway.bus.call(probe.echo, asked(), { text: 'a' })).toEqual({ text: 'a', times: 1 })
  })

  it('refuses input that does not fit an internal operation', async () => {
    await serveEcho()
    const error = await failure(gateway.bus.call(probe.echo, asked(), { text: 5 } as never))
    expect(error).toMatchObject({ code: 'validation_failed', fields: { errors: [{ pointer: '/text' }] } })
  })

  // The caller had left the table of those who wait before its answer was read, and then waited for ever.
  it('fails when the answer is none that can be read', async () => {
    const peer = await serve({})
    peer.connection.subscribe(subjects.command(probe.echo), ({ reply }) =>
      peer.connection.send(reply as string, Buffer.from('{"output"')),
    )
    await peer.connection.flush()
    const error = await failure(gateway.bus.call(probe.echo, asked(), { text: '' }))
    expect(error).toMatchObject({ code: 'internal', fields: { service: 'lifecycle' } })
  })

  it('hands the handler the actor, request id, trace, deadline and idempotency key of the caller', async () => {
    const seen: Context[] = []
    await serveWait(async (ctx) => {
      seen.push(ctx)
    })
    const ctx = asked({ traceparent: '00-ab-cd-01', idempotencyKey: 'key', deadline: systemClock.now() + 5000 })
    await gateway.bus.call(probe.wait, ctx, {})
    expect(seen[0]).toMatchObject({
      actor: ctx.actor,
      requestId: ctx.requestId,
      traceparent: '00-ab-cd-01',
      idempotencyKey: 'key',
      deadline: ctx.deadline,
    })
  })

  it("keeps the code and fields of the handler's error", async () => {
    await serveWait(async () => {
      throw new SvcError('illegal_transition', 'it has ended', { state: 'done', event: 'cancel' })
    })
    const error = await failure(gateway.bus.call(probe.wait, asked(), {}))
    expect(error).toMatchObject({
      code: 'illegal_transition',
      message: 'it has ended',
      fields: { state: 'done', event: 'cancel' },
    })
  })

  it('answers any other error as internal, its text in the log alone, under the request id', async () => {
    const server = await serveWait(async () => {
      throw new Error('password is hunter2')
    })
    const ctx = asked()
    const error = await failure(gateway.bus.call(probe.wait, ctx, {}))
    expect(error.code).toBe('internal')
    expect(JSON.stringify(error.toWire())).not.toContain('hunter2')
    const record = server.logged.find(({ request_id }) => request_id === ctx.requestId)
    expect(record).toMatchObject({ operation: 'probe.wait', err: { message: 'password is hunter2' } })
    expect(record?.err).toHaveProperty('stack')
  })

  it('answers internal when the answer has no JSON', async () => {
    await serveWait(async () => 1n)
    expect(await failure(gateway.bus.call(probe.wait, asked(), {}))).toMatchObject({ code: 'internal' })
  })
})

describe('a call that nobody serves', () => {
  it('fails at once and names the service', async () => {
    const started = systemClock.monotonic()
    const error = await failure(gateway.bus.call(probe.wait, asked(), {}))
    expect(error).toMatchObject({ code: 'service_unavailable', fields: { service: 'lifecycle' } })
    expect(error.facts.retryable).toBe(true)
    expect(systemClock.monotonic() - started).toBeLessThan(9000)
  })
})

describe('the deadline of a call', () => {
  it('fails the caller and fires the signal of the handler', async () => {
    const fired = gate<unknown>()
    await serveWait((ctx) => {
      ctx.signal.addEventListener('abort', () => fired.open(ctx.signal.reason))
      return new Promise(() => undefined)
    })
    const error = await failure(gateway.bus.call(probe.wait, asked(), {}, { timeout: 1000 }))
    expect(error.code).toBe('deadline_exceeded')
    expect(await fired.promise).toMatchObject({ code: 'deadline_exceeded' })
  })

  it('is the earlier of the context and the timeout', async () => {
    const seen: (number | undefined)[] = []
    await serveWait(async (ctx) => {
      seen.push(ctx.deadline)
    })
    const now = systemClock.now()
    await gateway.bus.call(probe.wait, asked({ deadline: now + 30_000 }), {}, { timeout: 90_000 })
    await gateway.bus.call(probe.wait, asked({ deadline: now + 90_000 }), {}, { timeout: 30_000 })
    await gateway.bus.call(probe.wait, asked(), {})
    expect(seen[0]).toBe(now + 30_000)
    expect(seen[1]).toBeLessThan(now + 80_000)
    expect(seen[2]).toBeGreaterThanOrEqual(now + 10_000)
  })

  it('that has passed sends nothing, not even to learn that nobody serves it', async () => {
    const error = await failure(gateway.bus.call(probe.wait, asked({ deadline: systemClock.now() - 1 }), {}))
    expect(error.code).toBe('deadline_exceeded')
  })

  it('that passed on the way is refused by the server, unworked', async () => {
    let calls = 0
    await serveWait(async () => {
      calls += 1
    })
    const answer = gate<Answer>()
    const subject = subjects.command(probe.wait)
    const reply = gateway.inbox.open({
      subject,
      onMessage: (data) => answer.open(decode(data)),
      onFailure: () => undefined,
    })
    const { actor, requestId } = asked()
    const late = { ctx: { actor, requestId, deadline: systemClock.now() - 1 }, input: {} }
    gateway.connection.send(subject, encode(late), reply)
    expect(await answer.promise).toMatchObject({ error: { code: 'deadline_exceeded' } })
    expect(calls).toBe(0)
    gateway.inbox.close(reply)
  })
})

describe('a caller who goes away', () => {
  it('is answered client_closed', async () => {
    await serveWait(() => new Promise(() => undefined))
    const leaving = new AbortController()
    const call = failure(gateway.bus.call(probe.wait, asked({ signal: leaving.signal }), {}))
    leaving.abort()
    expect((await call).code).toBe('client_closed')
  })

  it("gets its signal's own reason when that is one of our errors", async () => {
    await serveWait(() => new Promise(() => undefined))
    const leaving = new AbortController()
    const call = failure(gateway.bus.call(probe.wait, asked({ signal: leaving.signal }), {}))
    leaving.abort(new SvcError('not_leader'))
    expect((await call).code).toBe('not_leader')
  })
})

describe('the size of a message', () => {
  it('is bounded for a question', async () => {
    await serveEcho()
    const limit = gateway.connection.maxPayload
    const error = await failure(gateway.bus.call(probe.echo, asked(), { text: 'x'.repeat(limit) }))
    expect(error).toMatchObject({ code: 'payload_too_large', fields: { limit } })
  })

  it('is bounded for an answer', async () => {
    await serveWait(async () => 'x'.repeat(gateway.connection.maxPayload))
    expect(await failure(gateway.bus.call(probe.wait, asked(), {}))).toMatchObject({ code: 'payload_too_large' })
  })
})

describe('servers', () => {
  it('of one service share its commands', async () => {
    await serveWait(async () => 'one')
    await serveWait(async () => 'two')
    const answers = await Promise.all(Array.from({ length: 100 }, () => gateway.bus.call(probe.wait, asked(), {})))
    expect(new Set(answers)).toEqual(new Set(['one', 'two']))
  })

  it('of two hosts each get their own commands', async () => {
    for (const hostId of ['one', 'two']) {
      const handlers = { 'probe.report': async () => ({ host: hostId }) }
      await serve({ operations: [probe.report], handlers, hostId }, 'host')
    }
    expect(await gateway.bus.call(probe.report, asked(), {}, { target: 'two' })).toEqual({ host: 'two' })
    expect(await gateway.bus.call(probe.report, asked(), {}, { target: 'one' })).toEqual({ host: 'one' })
    const error = await failure(gateway.bus.call(probe.report, asked(), {}, { target: 'three' }))
    expect(error).toMatchObject({ code: 'service_unavailable', fields: { service: 'host' } })
  })

  it('that are paused refuse at once, finish what they have in hand, and can listen again', async () => {
    const begun = gate()
    const finish = gate<string>()
    const peer = await serveWait(() => {
      begun.open()
      return finish.promise
    })
    const inHand = gateway.bus.call(probe.wait, asked(), {})
    await begun.promise
    await peer.server.pause()
    expect((await failure(gateway.bus.call(probe.wait, asked(), {}))).code).toBe('service_unavailable')
    finish.open('finished')
    expect(await inHand).toBe('finished')
    await peer.server.listen()
    expect(await gateway.bus.call(probe.wait, asked(), {})).toBe('finished')
  })

  it('lose no command that was sent before they paused', async () => {
    const peer = await serveWait(async () => 'done')
    const calls = Array.from({ length: 200 }, () => gateway.bus.call(probe.wait, asked(), {}))
    await gateway.bus.settled()
    await peer.server.pause()
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['done']))
  })

  it('drain: they wait for what is in hand', async () => {
    const begun = gate()
    const finish = gate<string>()
    const peer = await serveWait(() => {
      begun.open()
      return finish.promise
    })
    const inHand = gateway.bus.call(probe.wait, asked(), {})
    await begun.promise
    const drained = peer.server.drain()
    await waitFor(() => !peer.server.listening)
    finish.open('finished')
    await drained
    expect(peer.server.working).toBe(0)
    expect(await inHand).toBe('finished')
  })

  it('drain: they give up what does not finish in time, and fire its signal', async () => {
    const begun = gate<AbortSignal>()
    const peer = await serveWait(({ signal }) => {
      begun.open(signal)
      return new Promise(() => undefined)
    })
    const inHand = failure(gateway.bus.call(probe.wait, asked(), {}, { timeout: 2000 }))
    const signal = await begun.promise
    await peer.server.drain(20)
    expect(signal.reason).toMatchObject({ code: 'service_unavailable' })
    expect((await inHand).code).toBe('deadline_exceeded')
  })

  it('shed what is beyond their capacity', async () => {
    const finish = gate()
    const peer = await serveWait(() => finish.promise, { capacity: 1 })
    const first = gateway.bus.call(probe.wait, asked(), {})
    await waitFor(() => peer.server.working === 1)
    const error = await failure(gateway.bus.call(probe.wait, asked(), {}))
    expect(error).toMatchObject({ code: 'service_unavailable', fields: { service: 'lifecycle' } })
    finish.open()
    await first
  })
})

describe('the tail', () => {
  it('reaches all who follow, by wildcard, as callback and as iterable', async () => {
    const other = await joinBus(testNats().url, 'gateway', { rights: 'all' })
    peers.push(other)
    const heard: string[] = []
    const stop = gateway.bus.subscribe<{ n: number }>(subjects.nodesLive(), ({ subject, payload }) =>
      heard.push(`${subject} ${payload.n}`),
    )
    const tail = other.bus.subscribe<{ n: number }>(subjects.nodesLive())
    await Promise.all([gateway.bus.settled(), other.bus.settled()])
    expect(gateway.bus.publish(subjects.nodeLive('node_a'), { n: 1 })).toBe(true)
    expect((await tail.next()).value).toEqual({ subject: 'svc.live.node.node_a', payload: { n: 1 } })
    await waitFor(() => heard.length > 0)
    expect(heard).toEqual(['svc.live.node.node_a 1'])
    stop()
    await tail.return()
  })
})
