import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { joinBus, type TestPeer } from '../../testing/bus.js'
import { NatsProcess } from '../../testing/nats-process.js'
import { waitFor } from '../../testing/wait-for.js'
import { systemClock } from '../clock.js'
import { subjects } from '../subjects.js'
import { asked, failure, gate, probe } from './bus.fixture.js'

let nats: NatsProcess
const peers: TestPeer[] = []

const join = async (...args: Parameters<typeof joinBus>): Promise<TestPeer> => {
  const peer = await joinBus(...args)
  peers.push(peer)
  return peer
}

const close = async (): Promise<void> => {
  await Promise.all(peers.splice(0).map((peer) => peer.close()))
}

describe('when NATS is lost', () => {
  beforeAll(async () => {
    nats = await NatsProcess.start()
  })
  afterEach(async () => {
    await close()
    await nats.restart()
  })
  afterAll(() => nats.stop())

  it('a call in flight fails at once, retryable, and a call while it is down too', async () => {
    const begun = gate()
    const handlers = {
      'probe.wait': () => {
        begun.open()
        return new Promise(() => undefined)
      },
    }
    await join(nats.url, 'lifecycle', { operations: [probe.wait], handlers })
    const gateway = await join(nats.url, 'gateway')
    const inFlight = failure(gateway.bus.call(probe.wait, asked(), {}))
    await begun.promise
    const killed = systemClock.monotonic()
    await nats.stop()
    const error = await inFlight
    expect(error).toMatchObject({ code: 'service_unavailable', fields: { service: 'lifecycle' } })
    expect(error.facts.retryable).toBe(true)
    await waitFor(() => !gateway.bus.connected)
    const whileDown = await failure(gateway.bus.call(probe.wait, asked(), {}))
    expect(whileDown).toMatchObject({ code: 'service_unavailable', fields: { service: 'lifecycle' } })
    expect(gateway.bus.publish(subjects.nodeLive('node_a'), {})).toBe(false)
    expect(systemClock.monotonic() - killed).toBeLessThan(9000)
    expect(gateway.inbox.size).toBe(0)
  })

  it('the handler of a call that nobody can take back stops at its deadline', async () => {
    const begun = gate()
    const fired = gate<unknown>()
    const handlers = {
      'probe.wait': ({ signal }: { signal: AbortSignal }) => {
        begun.open()
        return new Promise(() => signal.addEventListener('abort', () => fired.open(signal.reason)))
      },
    }
    await join(nats.url, 'lifecycle', { operations: [probe.wait], handlers })
    const gateway = await join(nats.url, 'gateway')
    const leaving = new AbortController()
    const call = failure(gateway.bus.call(probe.wait, asked({ signal: leaving.signal }), {}, { timeout: 5000 }))
    await begun.promise
    await nats.stop()
    leaving.abort()
    expect((await call).code).toMatch(/client_closed|service_unavailable/)
    expect(await fired.promise).toMatchObject({ code: 'deadline_exceeded' })
  })

  it('a stream ends for both sides, and everything works again when it is back', async () => {
    const ended = gate<unknown>()
    const handlers = {
      'probe.echo': async (_ctx: unknown, input: unknown) => input,
      'probe.flow': async function* ({ signal }: { signal: AbortSignal }) {
        yield 1
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        ended.open(signal.reason)
      },
    }
    const server = await join(nats.url, 'lifecycle', { operations: [probe.echo, probe.flow], handlers })
    const gateway = await join(nats.url, 'gateway')
    let back = 0
    gateway.bus.onBack(() => {
      back += 1
    })
    const heard: unknown[] = []
    gateway.bus.subscribe(subjects.nodesLive(), ({ payload }) => heard.push(payload))
    const stream = gateway.bus.stream(probe.flow, asked(), {})
    await stream.next()
    const waiting = failure(stream.next())
    await nats.stop()
    expect(await waiting).toMatchObject({ code: 'service_unavailable', fields: { service: 'lifecycle' } })
    expect(await ended.promise).toMatchObject({ code: 'client_closed' })
    await waitFor(() => server.server.working === 0)

    await nats.restart()
    await waitFor(() => gateway.bus.connected && server.bus.connected)
    expect(back).toBe(1)
    expect(await gateway.bus.call(probe.echo, asked(), { text: 'a' })).toEqual({ text: 'a', times: 1 })
    const again = gateway.bus.stream(probe.flow, asked(), {})
    expect((await again.next()).value).toBe(1)
    await again.return()
    server.bus.publish(subjects.nodeLive('node_a'), 'heard')
    await waitFor(() => heard.length > 0)
    expect(heard).toEqual(['heard'])
  })

  it('a service that starts before it waits for it', async () => {
    await nats.stop()
    const joining = join(nats.url, 'gateway')
    await nats.restart()
    expect((await joining).bus.connected).toBe(true)
  })
})

describe('the permissions of a service', () => {
  const users = `authorization { users: [
    { user: lifecycle, password: "p@ss/w", permissions: {
      publish: ["svc.inbox.>"], subscribe: ["svc.cmd.lifecycle.>", "svc.cancel.lifecycle.>", "svc.inbox.lifecycle.>"] } }
    { user: gateway, password: g, permissions: {
      publish: ["svc.cmd.lifecycle.probe.echo", "svc.inbox.>"], subscribe: ["svc.inbox.gateway.>"] } }
  ] }`
  const as = (user: string, password: string): string =>
    nats.url.replace('nats://', `nats://${user}:${encodeURIComponent(password)}@`)
  const handlers = { 'probe.echo': async () => 'heard', 'probe.wait': async () => 'heard' }

  beforeAll(async () => {
    nats = await NatsProcess.start(users)
  })
  afterEach(close)
  afterAll(() => nats.stop())

  it('let it ask what it may', async () => {
    await join(as('lifecycle', 'p@ss/w'), 'lifecycle', { operations: [probe.echo], handlers })
    const gateway = await join(as('gateway', 'g'), 'gateway')
    expect(await gateway.bus.call(probe.echo, asked(), { text: '' })).toBe('heard')
  })

  it('fail a call and a stream that it may not send, at once', async () => {
    await join(as('lifecycle', 'p@ss/w'), 'lifecycle', { operations: [probe.wait], handlers })
    const gateway = await join(as('gateway', 'g'), 'gateway')
    const started = systemClock.monotonic()
    const error = await failure(gateway.bus.call(probe.wait, asked(), {}))
    expect(error).toMatchObject({ code: 'internal', fields: { service: 'lifecycle' } })
    expect(error.message).toContain('svc.cmd.lifecycle.probe.wait')
    expect((await failure(gateway.bus.stream(probe.flow, asked(), {}).next())).code).toBe('internal')
    expect(systemClock.monotonic() - started).toBeLessThan(9000)
    expect(gateway.inbox.size).toBe(0)
  })

  it('fail the start of a service that may not listen to its commands or its answers', async () => {
    const serving = join(as('gateway', 'g'), 'lifecycle', { operations: [probe.echo], handlers })
    expect((await failure(serving)).message).toContain('svc.inbox.lifecycle')
    const intruder = await join(as('lifecycle', 'p@ss/w'), 'lifecycle')
    const refused = intruder.connection.subscribe('svc.cmd.host.>', () => undefined)
    await intruder.connection.flush()
    expect(refused.refused).toBeDefined()
  })

  it('fail the start of a service with a wrong password instead of trying for ever', async () => {
    expect((await failure(join(as('gateway', 'wrong'), 'gateway'))).name).toBe('AuthorizationError')
  })
})
