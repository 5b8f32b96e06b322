import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { contract, type OutputOf } from '#common/contract/index.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { systemClock } from '#common/kernel/clock.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, ready, said, started } from '../../../../test/support/lifecycle-service.js'

type Readiness = OutputOf<(typeof contract)['models.ready']>
type Fault = { kind: string; message: string; retry_after_ms?: number }
const patience = { timeout: 30_000 }

const away: Readiness = {
  ready: true,
  providers: [
    { provider: 'mock', type: 'openai-compatible', configured: true, usable: false, reason: 'gone', checked_at: null },
  ],
  strengths: [{ strength: 'medium', model: 'mock/m', reason: 'gone' }],
  remedy: null,
}

let lifecycle: LifecycleUnderTest
let models: TestPeer
let probe: Readiness = ready
let known: Readiness = ready
let probed = 0
/** Whether the next probe alone finds the provider there. */
let readyOnce = false
const joinModels = async (): Promise<void> => {
  const [asked, told] = [contract['models.readiness'], contract['models.ready']]
  models = await joinBus(lifecycle.nats, 'models', {
    operations: [asked, told],
    handlers: {
      [asked.name]: async () => {
        probed += 1
        if (!readyOnce) return probe
        readyOnce = false
        return ready
      },
      [told.name]: async () => known,
    },
  })
}
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  await joinModels()
})
afterEach(() => {
  probe = ready
  known = ready
})
afterAll(async () => {
  await models.close()
  await lifecycle.stop()
})

const failed = (turn: number, fault: Fault) => ({ type: 'turn_ended', turn, status: 'failed', fault }) as never
const faultsOf = async (id: string) => (await lifecycle.call('nodes.faults.list', { id, limit: 50 })).data

/** A node that thinks, whose first turn ended by this fault. */
const stopped = async (fault: Fault, more: Parameters<LifecycleUnderTest['running']>[0] = {}) => {
  const running = await lifecycle.running({ engine: 'loop', exec: undefined, lifecycle: 'terminal', ...more })
  await running.broker.append(started(1, running.assignment.mail), failed(1, fault))
  return running
}
const launches = (id: string): number => lifecycle.host.launchesOf(id).length
const connection = { kind: 'connection', message: 'nobody listens' }

describe('a connection fault', () => {
  // Fault 9: while the network was away every node was started again and again, for nothing.
  it('holds the node, which is tried again when its provider answers and not before', async () => {
    probe = away
    const { node } = await stopped(connection)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({
      status: 'active',
      broker: null,
      fault: { ...connection, held_for: 'provider', tries: 1, retry_at: expect.any(String) },
    })
    const before = probed
    await waitFor(() => probed >= before + 3, { ...patience, what: 'three probes' })
    expect(launches(node.id)).toBe(1)

    probe = ready

    const { broker } = await lifecycle.bound(node.id, 2)
    const held = (await lifecycle.retrieve(node.id)).fault
    expect(held).toMatchObject({ kind: 'connection', tries: 1 })
    expect(held).not.toHaveProperty('held_for')
    await broker.append(started(2), { ...said(2, 1), model: 'mock/m' } as never)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ fault: null, answered_by: 'mock/m' })
    expect((await lifecycle.typesOf(node.id)).filter((type) => type.startsWith('node.fault'))).toEqual([
      'node.fault',
      'node.fault_cleared',
    ])
  })

  // Its provider answered the probe and broke off every answer: it was tried again with each look.
  it('is one episode while it goes on, in which the tries become rarer', async () => {
    const { node } = await stopped(connection)
    const { broker } = await lifecycle.bound(node.id, 2)
    const since = (await lifecycle.retrieve(node.id)).fault?.since as string
    await broker.append(started(2), failed(2, connection))
    const { fault } = await lifecycle.retrieve(node.id)
    expect(fault).toMatchObject({ since, tries: 2, held_for: 'provider' })
    await lifecycle.bound(node.id, 3)
    const again = (await lifecycle.recorded(node.id)).findLast(({ type }) => type === 'node.launching')
    const lasted = Date.parse(fault?.last_at as string) - Date.parse(since)
    expect(Date.parse(again?.time as string)).toBeGreaterThanOrEqual(Date.parse(fault?.last_at as string) + lasted)
    expect(await faultsOf(node.id)).toMatchObject([{ kind: 'connection', tries: 2, since, ended_at: null }])
  })

  it('keeps it held while nobody can say how the provider is', async () => {
    probe = away
    const { node } = await stopped(connection)
    await models.close()
    const since = systemClock.now()
    await waitFor(() => systemClock.now() > since + 3000, patience)
    expect(launches(node.id)).toBe(1)
    await joinModels()
    probe = ready
    await lifecycle.bound(node.id, 2)
  })

  it('survives a restart', async () => {
    probe = away
    const { node } = await stopped(connection)
    await lifecycle.stopService()
    await lifecycle.another()
    await lifecycle.host.hello()
    expect((await lifecycle.retrieve(node.id)).fault).toMatchObject({ held_for: 'provider' })
    expect(launches(node.id)).toBe(1)
    probe = ready
    await lifecycle.bound(node.id, 2)
  })

  // Fault 40: a provider that came back was met by all nodes at once.
  it('of many nodes ends for a few at first', async () => {
    probe = away
    const all = await Promise.all(Array.from({ length: 12 }, () => stopped(connection)))
    const again = (): number => all.filter(({ node }) => launches(node.id) === 2).length
    const ripeAt = Math.max(
      ...(await Promise.all(all.map(async ({ node }) => Date.parse((await lifecycle.retrieve(node.id)).updated_at)))),
    )
    await waitFor(() => systemClock.now() > ripeAt + 2500, patience)

    readyOnce = true

    await waitFor(() => again() === 4, { ...patience, what: 'the first wave' })
    const before = probed
    await waitFor(() => probed >= before + 3, { ...patience, what: 'three more looks' })
    expect(again()).toBe(4)
    probe = ready
    for (const { node } of all) await lifecycle.bound(node.id, 2)
  })
})

describe('a refused credential', () => {
  const refused = { kind: 'auth', message: 'the key was refused' }

  it('holds the node until a person has brought another, and says so once to those who wait', async () => {
    known = away
    const parent = await lifecycle.running()
    const { node } = await stopped(refused, { parent_id: parent.node.id, name: 'hand', cwd: '/tmp' })
    const held = await lifecycle.retrieve(node.id)
    expect(held).toMatchObject({ status: 'active', fault: { ...refused, held_for: 'credential' } })
    expect(held.fault).not.toHaveProperty('retry_at')
    const notice = (await parent.broker.claim()).mail.find(({ kind }) => kind === 'notice')
    expect(notice).toMatchObject({ tier: 'urgent', body: expect.stringMatching(/^hand .*credential: the key was/) })

    known = ready

    const { broker } = await lifecycle.bound(node.id, 2)
    await broker.append(started(2), failed(2, refused))
    expect((await parent.broker.claim()).mail.filter(({ kind }) => kind === 'notice')).toHaveLength(1)
    expect((await lifecycle.retrieve(node.id)).fault).toMatchObject({ tries: 2, held_for: 'credential' })
  })
})

describe('a fault that ends the node', () => {
  it.each(['model_not_found', 'other'] as const)('is %s: loud, and in the history', async (kind) => {
    const { node } = await stopped({ kind, message: 'it is not there' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'dead', fault: { kind } })
    expect(await faultsOf(node.id)).toMatchObject([{ kind, message: 'it is not there', turn: 1, ended_at: null }])
    await lifecycle.message(node.id, 'try again')
    expect(await faultsOf(node.id)).toMatchObject([{ kind, ended_at: expect.any(String) }])
  })
})

describe('a fault in the middle of a turn', () => {
  it('is shown while the turn goes on, and is over with the answer', async () => {
    const { node, broker, assignment } = await lifecycle.running({ engine: 'loop', exec: undefined })
    await broker.append(started(1, assignment.mail))
    const told = { turn: 1, kind: 'rate_limit', message: 'slow down', retry_after_ms: 30_000 }
    for (let tries = 1; tries <= 2; tries += 1) {
      expect(await broker.call('nodes.faults.record', told)).toEqual({ noted: true })
      const { status, fault } = await lifecycle.retrieve(node.id)
      expect({ status, fault }).toMatchObject({ status: 'active', fault: { kind: 'rate_limit', tries } })
      expect(Date.parse(fault?.retry_at as string) - Date.parse(fault?.last_at as string)).toBe(30_000)
    }
    await broker.append(said(1, 1))
    expect(await broker.call('nodes.faults.record', { ...told, turn: 2 })).toEqual({ noted: false })
    expect((await lifecycle.retrieve(node.id)).fault).toBeNull()
    expect(await faultsOf(node.id)).toMatchObject([{ kind: 'rate_limit', tries: 2, ended_at: expect.any(String) }])
  })

  it('is told by its own process alone', async () => {
    const { node, broker } = await stopped(connection)
    const told = { turn: 1, kind: 'other', message: 'm' }
    expect(await failure(broker.call('nodes.faults.record', told))).toMatchObject({ code: 'stale_generation' })
    const asked = lifecycle.call('nodes.faults.record', { id: node.id, ...told })
    expect(await failure(asked)).toMatchObject({ code: 'node_token_required' })
  })
})

describe('try now', () => {
  const retry = (id: string) => lifecycle.call('nodes.retry', { id })

  it('ends a back-off and a hold, and does nothing to one at work', async () => {
    probe = away
    for (const fault of [{ kind: 'rate_limit', message: 'm', retry_after_ms: 3_600_000 }, connection]) {
      const { node } = await stopped(fault)
      expect(launches(node.id)).toBe(1)
      expect(await retry(node.id)).toEqual({ retried: true })
      await lifecycle.bound(node.id, 2)
      expect(await retry(node.id)).toEqual({ retried: false })
      expect((await lifecycle.retrieve(node.id)).fault).toMatchObject({ kind: fault.kind })
    }
  })

  it('is refused for a node that rests or has ended, and to a stranger', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    const stranger = await lifecycle.create()
    const asked = lifecycle.call('nodes.retry', { id: node.id }, nodeContext(stranger.id))
    expect(await failure(asked)).toMatchObject({ code: 'not_found' })
    await broker.turn(1, assignment.mail)
    expect(await failure(retry(node.id))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'idle', event: 'retry' },
    })
  })
})

describe('the history of faults', () => {
  it('is read by pages, newest first, by whom the node concerns', async () => {
    const { node } = await stopped({ kind: 'other', message: 'number 1' })
    for (let number = 2; number <= 5; number += 1) {
      await lifecycle.message(node.id, 'again')
      const { broker, assignment } = await lifecycle.bound(node.id, number)
      await broker.append(
        started(number, assignment.mail),
        failed(number, { kind: 'other', message: `number ${number}` }),
      )
    }
    const seen: string[] = []
    for (let after: string | undefined, more = true; more; ) {
      const page = await lifecycle.call('nodes.faults.list', { id: node.id, limit: 2, ...(after && { after }) })
      seen.push(...page.data.map(({ message }) => message))
      after = page.next_cursor ?? undefined
      more = page.has_more
    }
    expect(seen).toEqual([5, 4, 3, 2, 1].map((number) => `number ${number}`))
    const stranger = await lifecycle.create()
    const asked = lifecycle.call('nodes.faults.list', { id: node.id }, nodeContext(stranger.id))
    expect(await failure(asked)).toMatchObject({ code: 'not_found' })
  })
})
