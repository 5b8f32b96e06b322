import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { joinBus, type PeerOptions, type TestPeer } from '../../testing/bus.js'
import { testNats } from '../../testing/nats.js'
import { waitFor } from '../../testing/wait-for.js'
import { systemClock } from '../clock.js'
import type { Context } from '../context.js'
import { SvcError } from '../errors.js'
import { subjects } from '../subjects.js'
import { asked, failure, gate, probe } from './bus.fixture.js'
import { decode, encode, encodeItems, type Frame } from './codec.js'

/** Silent for good is who says nothing for a second; a busy machine says nothing for some tenths of one. */
const quick = { beat: 50, silence: 1000 }
let gateway: TestPeer
const peers: TestPeer[] = []

type Produce = (ctx: Context, input: unknown) => unknown

const serve = async (produce: Produce, more: PeerOptions = {}): Promise<TestPeer> => {
  const handlers = { 'probe.flow': produce }
  const peer = await joinBus(testNats().url, 'lifecycle', { operations: [probe.flow], handlers, ...more })
  peers.push(peer)
  return peer
}

const open = (more: Partial<Context> = {}, input = {}) => gateway.bus.stream(probe.flow, asked(more), input)

const collect = async (stream: AsyncIterable<unknown>): Promise<unknown[]> => {
  const items: unknown[] = []
  for await (const item of stream) items.push(item)
  return items
}

async function* numbers(_ctx: Context, input: unknown): AsyncGenerator<number> {
  const { count } = input as { count: number }
  for (let n = 0; n < count; n += 1) yield n
}

/** Hangs until its signal fires, and notes that it ended. */
const hanging = (ended: (reason: unknown) => void) =>
  async function* ({ signal }: Context): AsyncGenerator<string> {
    yield 'first'
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    ended(signal.reason)
  }

beforeAll(async () => {
  gateway = await joinBus(testNats().url, 'gateway')
})

afterAll(() => gateway.close())

afterEach(async () => {
  await Promise.all(peers.splice(0).map((peer) => peer.close()))
  expect(gateway.inbox.size).toBe(0)
})

describe('a stream', () => {
  it('hands out every item in order', async () => {
    await serve(numbers)
    expect(await collect(open({}, { count: 5000 }))).toEqual(Array.from({ length: 5000 }, (_, n) => n))
  })

  it('ends without an item where there is none', async () => {
    await serve(numbers)
    expect(await collect(open())).toEqual([])
  })

  it('carries an item that is larger than the window', async () => {
    const large = 'x'.repeat(600 * 1024)
    await serve(async function* () {
      yield large
      yield large
      yield 'end'
    })
    expect(await collect(open())).toEqual([large, large, 'end'])
  })

  it('sends the first item before the second is there', async () => {
    const second = gate()
    await serve(async function* () {
      yield 1
      await second.promise
      yield 2
    })
    const stream = open()
    expect((await stream.next()).value).toBe(1)
    second.open()
    expect(await collect(stream)).toEqual([2])
  })

  it('sends what is ready in one tick as two frames: the first item at once, the others together', async () => {
    await serve(numbers)
    const frames: Frame[] = []
    const ended = gate()
    const onMessage = (data: Uint8Array): void => {
      frames.push(decode(data))
      if (frames.at(-1)?.t === 'end') ended.open()
    }
    const address = gateway.inbox.open({ subject: '', onMessage, onFailure: () => undefined })
    const { actor, requestId } = asked()
    const request = { ctx: { actor, requestId }, input: { count: 4 }, open: { items: 8, bytes: 8000 } }
    gateway.connection.send(subjects.command(probe.flow), encode(request), address)
    await ended.promise
    expect(frames.flatMap((frame) => (frame.t === 'items' ? [frame.items] : []))).toEqual([[0], [1, 2, 3]])
    gateway.inbox.close(address)
  })

  it("ends with the handler's error, code and fields, after the items before it", async () => {
    await serve(async function* () {
      yield 1
      throw new SvcError('model_error', 'overloaded', { provider: 'x' })
    })
    const stream = open()
    expect((await stream.next()).value).toBe(1)
    expect(await failure(stream.next())).toMatchObject({ code: 'model_error', fields: { provider: 'x' } })
    expect((await stream.next()).done).toBe(true)
  })

  it('is refused before it opens by a handler that rejects', async () => {
    await serve(async () => {
      throw new SvcError('not_found')
    })
    expect(await failure(open().opened())).toMatchObject({ code: 'not_found' })
    expect(await failure(open().next())).toMatchObject({ code: 'not_found' })
  })

  it('opens before its first item', async () => {
    const peer = await serve(async () => numbers(asked(), { count: 0 }))
    await open().opened()
    await waitFor(() => peer.server.working === 0)
    const idle = await serve(hanging(() => undefined))
    const stream = open()
    await stream.opened()
    await stream.return()
    await waitFor(() => idle.server.working === 0)
  })

  it('fails at once when nobody serves it', async () => {
    expect(await failure(open().next())).toMatchObject({
      code: 'service_unavailable',
      fields: { service: 'lifecycle' },
    })
  })

  it('sends nothing before it is read', async () => {
    let opened = 0
    await serve(() => {
      opened += 1
      return numbers(asked(), { count: 1 })
    })
    open()
    await collect(open())
    expect(opened).toBe(1)
  })

  it('ends at its deadline, for both sides', async () => {
    const ended = gate<unknown>()
    await serve(hanging(ended.open))
    const stream = open({ deadline: systemClock.now() + 100 })
    expect((await stream.next()).value).toBe('first')
    expect((await failure(stream.next())).code).toBe('deadline_exceeded')
    expect(await ended.promise).toMatchObject({ code: expect.stringMatching(/deadline_exceeded|client_closed/) })
  })

  it('ends at its deadline though its consumer does not', async () => {
    const ended = gate<unknown>()
    await serve(hanging(ended.open))
    const { actor, requestId } = asked()
    const ctx = { actor, requestId, deadline: systemClock.now() + 100 }
    const address = gateway.inbox.open({ subject: '', onMessage: () => undefined, onFailure: () => undefined })
    const request = { ctx, input: {}, open: { items: 8, bytes: 8000 } }
    gateway.connection.send(subjects.command(probe.flow), encode(request), address)
    expect(await ended.promise).toMatchObject({ code: 'deadline_exceeded' })
    gateway.inbox.close(address)
  })

  it('refuses an item that no message can carry', async () => {
    await serve(async function* () {
      yield 'x'.repeat(gateway.connection.maxPayload)
    })
    expect((await failure(collect(open()))).code).toBe('payload_too_large')
  })
})

describe('a slow consumer', () => {
  it('holds the producer back: no more than a window of items is made ahead of it', async () => {
    let made = 0
    await serve(async function* () {
      for (; made < 10_000; made += 1) yield made
    })
    const stream = open()
    for (let read = 1; read <= 500; read += 1) {
      await stream.next()
      if (read % 50 !== 0) continue
      await gateway.bus.settled()
      expect(made - read).toBeLessThanOrEqual(65)
    }
    await stream.return()
  })

  it('is measured in bytes too: large items are not made ahead by number alone', async () => {
    let made = 0
    const large = 'x'.repeat(100 * 1024)
    await serve(async function* () {
      for (; made < 100; made += 1) yield large
    })
    const stream = open()
    await stream.next()
    await waitFor(() => made >= 2)
    await gateway.bus.settled()
    expect(made).toBeLessThanOrEqual(4)
    await stream.return()
  })
})

describe('a consumer that leaves', () => {
  it('cancels the producer by leaving the loop', async () => {
    const ended = gate<unknown>()
    await serve(hanging(ended.open))
    for await (const item of open()) if (item === 'first') break
    expect(await ended.promise).toMatchObject({ code: 'client_closed' })
  })

  it('cancels it by its signal, while it waits', async () => {
    const ended = gate<unknown>()
    await serve(hanging(ended.open))
    const leaving = new AbortController()
    const stream = open({ signal: leaving.signal })
    await stream.next()
    const waiting = failure(stream.next())
    leaving.abort()
    expect((await waiting).code).toBe('client_closed')
    expect(await ended.promise).toMatchObject({ code: 'client_closed' })
  })

  it('cancels it even before the producer has said where it listens', async () => {
    const ended = gate<unknown>()
    await serve(hanging(ended.open))
    const stream = open()
    const waiting = stream.next()
    await stream.return()
    expect((await waiting).done).toBe(true)
    expect(await ended.promise).toMatchObject({ code: 'client_closed' })
    await waitFor(() => gateway.inbox.size === 0)
  })

  it('is noticed by its silence when it vanishes without a word', async () => {
    const ended = gate<unknown>()
    const peer = await serve(hanging(ended.open), { pulse: quick })
    const { actor, requestId } = asked()
    const request = { ctx: { actor, requestId }, input: {}, open: { items: 8, bytes: 8000 } }
    const address = gateway.inbox.open({ subject: '', onMessage: () => undefined, onFailure: () => undefined })
    gateway.connection.send(subjects.command(probe.flow), encode(request), address)
    expect(await ended.promise).toMatchObject({ code: 'client_closed' })
    await waitFor(() => peer.server.working === 0)
    gateway.inbox.close(address)
  })

  it('is noticed at once when its connection has gone', async () => {
    const ended = gate<unknown>()
    const peer = await serve(hanging(ended.open), { pulse: { beat: 30, silence: 60_000 } })
    const passing = await joinBus(testNats().url, 'gateway')
    await passing.bus.stream(probe.flow, asked(), {}).next()
    await passing.connection.drain()
    expect(await ended.promise).toMatchObject({ code: 'client_closed' })
    await waitFor(() => peer.server.working === 0)
  })
})

describe('a producer that goes wrong', () => {
  /** A producer that sends what the test says. */
  const puppet = async (frames: (Buffer | Frame)[]): Promise<void> => {
    const peer = await joinBus(testNats().url, 'lifecycle', { pulse: quick })
    peers.push(peer)
    const control = peer.inbox.open({ subject: '', onMessage: () => undefined, onFailure: () => undefined })
    peer.connection.subscribe(subjects.command(probe.flow), ({ reply }) => {
      for (const frame of frames) {
        peer.connection.send(reply as string, Buffer.isBuffer(frame) ? frame : encode(frame), control)
      }
    })
    await peer.connection.flush()
  }
  const impatient = async (): Promise<TestPeer> => {
    const peer = await joinBus(testNats().url, 'gateway', { pulse: quick })
    peers.push(peer)
    return peer
  }

  it('is noticed by its silence; what came before is handed out', async () => {
    await puppet([{ t: 'open', ready: true }, encodeItems(1, 1, ['1'])])
    const stream = (await impatient()).bus.stream(probe.flow, asked(), {})
    expect((await stream.next()).value).toBe(1)
    expect(await failure(stream.next())).toMatchObject({
      code: 'service_unavailable',
      fields: { service: 'lifecycle' },
    })
  })

  it('does not hold the consumer beyond the deadline', async () => {
    await puppet([{ t: 'open', ready: true }])
    const stream = open({ deadline: systemClock.now() + 60 })
    expect((await failure(stream.next())).code).toBe('deadline_exceeded')
  })

  it('is noticed when a frame is missing', async () => {
    await puppet([{ t: 'open', ready: true }, encodeItems(1, 1, ['1']), encodeItems(3, 1, ['3'])])
    const stream = open()
    expect((await stream.next()).value).toBe(1)
    expect((await failure(stream.next())).code).toBe('service_unavailable')
  })

  it('is noticed when its last frame is missing', async () => {
    await puppet([{ t: 'open', ready: true }, encodeItems(1, 1, ['1']), { t: 'end', n: 2 }])
    const stream = open()
    expect((await stream.next()).value).toBe(1)
    expect((await failure(stream.next())).code).toBe('service_unavailable')
  })

  it('stays, beating, while it has nothing to say', async () => {
    const say = gate()
    await serve(
      async function* () {
        await say.promise
        yield 'at last'
      },
      { pulse: quick },
    )
    const peer = await impatient()
    const beats: string[] = []
    const listening = gate()
    const address = peer.inbox.open({
      subject: '',
      onMessage: (data, reply) => {
        const { t } = decode<Frame>(data)
        beats.push(t)
        if (reply !== undefined) peer.connection.send(reply, encode({ t: 'beat' }))
        if (beats.length === 8) listening.open()
      },
      onFailure: () => undefined,
    })
    const { actor, requestId } = asked()
    const request = { ctx: { actor, requestId }, input: {}, open: { items: 8, bytes: 8000 } }
    peer.connection.send(subjects.command(probe.flow), encode(request), address)
    const stream = peer.bus.stream(probe.flow, asked(), {})
    const item = stream.next()
    await listening.promise
    expect(beats.slice(0, 3)).toEqual(['open', 'beat', 'beat'])
    say.open()
    expect((await item).value).toBe('at last')
    await stream.return()
    peer.inbox.close(address)
  })

  it('ends its streams when it pauses, so that readers come back to the next one', async () => {
    const peer = await serve(hanging(() => undefined))
    const stream = open()
    await stream.next()
    const waiting = failure(stream.next())
    await peer.server.pause('not_leader')
    expect((await waiting).code).toBe('not_leader')
    expect(peer.server.working).toBe(0)
  })
})
