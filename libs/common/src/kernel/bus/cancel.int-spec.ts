import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { joinBus, type PeerOptions, type TestPeer } from '../../testing/bus.js'
import { testNats } from '../../testing/nats.js'
import { waitFor } from '../../testing/wait-for.js'
import { type Context, envelopeOf } from '../context.js'
import { subjects } from '../subjects.js'
import { asked, failure, gate, probe } from './bus.fixture.js'
import { encode } from './codec.js'

/** Beats of a test's peers (ms). */
const pulse = { beat: 50, silence: 1000 }

let gateway: TestPeer
const peers: TestPeer[] = []

const serve = async (options: PeerOptions, service: 'lifecycle' | 'host' = 'lifecycle'): Promise<TestPeer> => {
  const peer = await joinBus(testNats().url, service, options)
  peers.push(peer)
  return peer
}

const serveWait = (method: (ctx: Context) => unknown): Promise<TestPeer> =>
  serve({ operations: [probe.wait], handlers: { 'probe.wait': method } })

const serveEcho = (): Promise<TestPeer> =>
  serve({ operations: [probe.echo], handlers: { 'probe.echo': async (_ctx, input) => input } })

beforeAll(async () => {
  gateway = await joinBus(testNats().url, 'gateway', { rights: 'all' })
})

afterAll(() => gateway.close())

afterEach(async () => {
  await Promise.all(peers.splice(0).map((peer) => peer.close()))
  expect(gateway.inbox.size).toBe(0)
})

/** A handler that works until its signal fires. */
const untilLeft = () => {
  const begun = gate<AbortSignal>()
  const left = gate<unknown>()
  const work = ({ signal }: Context): Promise<never> => {
    begun.open(signal)
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        left.open(signal.reason)
        reject(signal.reason)
      }),
    )
  }
  return { work, begun: begun.promise, left: left.promise }
}

/** Messages that tell servers of calls that were left, by the subjects that they came on. */
const cancels = async (): Promise<string[]> => {
  const heard: string[] = []
  const subscription = gateway.connection.subscribe('svc.cancel.>', ({ subject }) => heard.push(subject))
  await gateway.connection.flush()
  peers.push({ close: () => subscription.stop() } as TestPeer)
  return heard
}

describe('the server of a call that was left', () => {
  // It worked on until the deadline, which for a command is ten minutes.
  it('hears of it at once', async () => {
    const { work, begun, left } = untilLeft()
    const peer = await serveWait(work)
    const leaving = new AbortController()
    const call = failure(gateway.bus.call(probe.wait, asked({ signal: leaving.signal }), {}, { timeout: 600_000 }))
    await begun
    leaving.abort()
    expect(await left).toMatchObject({ code: 'client_closed' })
    expect((await call).code).toBe('client_closed')
    await waitFor(() => peer.server.working === 0)
  })

  it('hears of it even when it was left in the moment of asking', async () => {
    const { work, left } = untilLeft()
    await serveWait(work)
    const leaving = new AbortController()
    const call = failure(gateway.bus.call(probe.wait, asked({ signal: leaving.signal }), {}))
    leaving.abort()
    expect((await call).code).toBe('client_closed')
    expect(await left).toMatchObject({ code: 'client_closed' })
  })

  it('is the one of its replicas that has the call; the calls of others go on', async () => {
    const works = [untilLeft(), untilLeft()]
    for (const { work } of works) await serveWait(work)
    const signals: AbortSignal[] = []
    for (const { begun } of works)
      begun.then(
        (signal) => signals.push(signal),
        () => undefined,
      )
    const first = new AbortController()
    const other = new AbortController()
    const call = failure(gateway.bus.call(probe.wait, asked({ signal: first.signal }), {}))
    await waitFor(() => signals.length === 1)
    const others: Promise<unknown>[] = []
    await waitFor(() => {
      if (signals.length < 2) others.push(failure(gateway.bus.call(probe.wait, asked({ signal: other.signal }), {})))
      return signals.length === 2
    })
    first.abort()
    expect((await call).code).toBe('client_closed')
    await waitFor(() => signals[0]?.aborted === true)
    await gateway.connection.flush()
    expect(signals[1]?.aborted).toBe(false)
    other.abort()
    await Promise.all(others)
  })

  it('is the one host that was asked', async () => {
    const [one, two] = [untilLeft(), untilLeft()]
    await serve({ operations: [probe.report], handlers: { 'probe.report': one.work }, hostId: 'one' }, 'host')
    await serve({ operations: [probe.report], handlers: { 'probe.report': two.work }, hostId: 'two' }, 'host')
    const [leaving, staying] = [new AbortController(), new AbortController()]
    const ask = (target: string, { signal }: AbortController) =>
      failure(gateway.bus.call(probe.report, asked({ signal }), {}, { target }))
    const calls = [ask('one', leaving), ask('two', staying)]
    await Promise.all([one.begun, two.begun])
    leaving.abort()
    expect(await one.left).toMatchObject({ code: 'client_closed' })
    expect((await two.begun).aborted).toBe(false)
    staying.abort()
    await Promise.all(calls)
  })

  it('hears of it while it is paused', async () => {
    const { work, begun, left } = untilLeft()
    const peer = await serveWait(work)
    const leaving = new AbortController()
    const call = failure(gateway.bus.call(probe.wait, asked({ signal: leaving.signal }), {}))
    await begun
    await peer.server.pause()
    leaving.abort()
    expect(await left).toMatchObject({ code: 'client_closed' })
    await call
  })

  it('hears of it by no other than the caller', async () => {
    const { work, begun } = untilLeft()
    const peer = await serve({})
    await serveWait(work)
    const address = gateway.inbox.open({ subject: '', onMessage: () => undefined, onFailure: () => undefined })
    gateway.connection.send(subjects.command(probe.wait), encode({ ctx: envelopeOf(asked()), input: {} }), address)
    const signal = await begun
    peer.connection.send(subjects.cancel('lifecycle', 'host'), Buffer.alloc(0), address)
    // an answer of the same server shows that it has read what was sent before
    await peer.connection.flush()
    expect(signal.aborted).toBe(false)
    gateway.connection.send(subjects.cancel('lifecycle', 'gateway'), Buffer.alloc(0), address)
    await waitFor(() => signal.aborted)
    gateway.inbox.close(address)
  })

  // A gateway that was killed left its command running until the time-out of that, ten minutes at most.
  it('hears at the next beat that the caller was killed', async () => {
    const { work, begun, left } = untilLeft()
    await serve({ operations: [probe.wait], handlers: { 'probe.wait': work }, pulse })
    const caller = await joinBus(testNats().url, 'gateway', { rights: 'all' })
    const call = failure(caller.bus.call(probe.wait, asked(), {}, { timeout: 600_000 }))
    await begun
    await caller.connection.drain()
    expect(await left).toMatchObject({ code: 'client_closed' })
    await caller.close()
    expect((await call).code).toBe('service_unavailable')
  })

  it('hears at the next beat of a call that was left while its caller was cut off', async () => {
    const { work, begun, left } = untilLeft()
    const peer = await serve({ operations: [probe.wait], handlers: { 'probe.wait': work }, pulse })
    // the word of its leaving is lost
    const address = gateway.inbox.open({ subject: '', onMessage: () => undefined, onFailure: () => undefined })
    const request = { ctx: envelopeOf(asked()), input: {} }
    gateway.connection.send(subjects.command(probe.wait), encode(request), address)
    const signal = await begun
    expect(signal.aborted).toBe(false)
    gateway.inbox.close(address)
    expect(await left).toMatchObject({ code: 'client_closed' })
    await waitFor(() => peer.server.working === 0)
    expect(peer.inbox.size).toBe(0)
  })

  it('is told at the time-out of the caller too, whose clock may be ahead', async () => {
    const heard = await cancels()
    await serveWait(() => new Promise(() => undefined))
    await failure(gateway.bus.call(probe.wait, asked(), {}, { timeout: 30 }))
    await waitFor(() => heard.length > 0)
    expect(heard).toEqual(['svc.cancel.lifecycle.gateway'])
  })

  it('is told nothing of calls that are answered, refused or never sent', async () => {
    const heard = await cancels()
    await serveEcho()
    const leaving = new AbortController()
    await gateway.bus.call(probe.echo, asked({ signal: leaving.signal }), { text: '' })
    await failure(gateway.bus.call(probe.echo, asked({ signal: leaving.signal }), { text: 5 } as never))
    leaving.abort()
    await failure(gateway.bus.call(probe.echo, asked({ signal: leaving.signal }), { text: '' }))
    await gateway.connection.flush()
    expect(heard).toEqual([])
  })
})

describe('the server of a call that outlives its caller', () => {
  const outlives = { timeout: 600_000, outlives: true }

  // A scheduler that was started anew had every command of a schedule ended that ran then.
  it('works on when its caller is gone', async () => {
    const { work, begun } = untilLeft()
    const peer = await serve({ operations: [probe.wait], handlers: { 'probe.wait': work }, pulse })
    const caller = await joinBus(testNats().url, 'gateway', { rights: 'all' })
    const call = failure(caller.bus.call(probe.wait, asked(), {}, outlives))
    const signal = await begun
    await caller.close()
    expect((await call).code).toBe('service_unavailable')
    const since = performance.now()
    await waitFor(() => performance.now() - since > pulse.beat * 5)
    expect(signal.aborted).toBe(false)
    expect(peer.server.working).toBe(1)
  })

  it('is told nothing when its caller hears nothing of it', async () => {
    const heard = await cancels()
    const { work, begun } = untilLeft()
    await serve({ operations: [probe.report], handlers: { 'probe.report': work }, hostId: 'one' }, 'host')
    const caller = await serve({ pulse: { beat: 50, silence: 100 } })
    const call = failure(caller.bus.call(probe.report, asked(), {}, { ...outlives, target: 'one' }))
    const signal = await begun
    expect((await call).code).toBe('service_unavailable')
    await caller.connection.flush()
    await gateway.connection.flush()
    expect([heard, signal.aborted]).toEqual([[], false])
  })

  it('is told that its caller wants it no more', async () => {
    const { work, begun, left } = untilLeft()
    await serveWait(work)
    const leaving = new AbortController()
    const call = failure(gateway.bus.call(probe.wait, asked({ signal: leaving.signal }), {}, outlives))
    await begun
    leaving.abort()
    expect(await left).toMatchObject({ code: 'client_closed' })
    await call
  })
})

describe('the caller of a long call', () => {
  const impatient = () => serve({ pulse })

  it('waits for a server that works, however long that takes', async () => {
    const begun = gate()
    const answer = gate<string>()
    const work = async () => {
      begun.open()
      return { host: await answer.promise }
    }
    await serve(
      {
        operations: [probe.report],
        handlers: { 'probe.report': work },
        hostId: 'one',
        pulse,
      },
      'host',
    )
    const caller = await impatient()
    const call = caller.bus.call(probe.report, asked(), {}, { target: 'one', timeout: 600_000 })
    await begun.promise
    const since = performance.now()
    await waitFor(() => performance.now() - since > pulse.silence * 3)
    answer.open('one')
    expect(await call).toEqual({ host: 'one' })
  })

  // With a host that was killed a command's caller waited until the time-out of the command.
  it('hears that the server is gone', async () => {
    const begun = gate()
    const work = () => {
      begun.open()
      return new Promise(() => undefined)
    }
    const host = await serve(
      { operations: [probe.report], handlers: { 'probe.report': work }, hostId: 'one', pulse },
      'host',
    )
    const caller = await impatient()
    const call = failure(caller.bus.call(probe.report, asked(), {}, { target: 'one', timeout: 600_000 }))
    await begun.promise
    await host.connection.drain()
    const error = await call
    expect(error.code).toBe('service_unavailable')
    expect(error.fields).toEqual({ service: 'host', host_id: 'one' })
  })
})
