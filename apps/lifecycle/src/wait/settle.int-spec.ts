import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { LifecycleUnderTest, said, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  await lifecycle.joinModels()
})
afterAll(() => lifecycle.stop())

type Running = Awaited<ReturnType<LifecycleUnderTest['running']>>
const agent = { engine: 'loop', exec: undefined, lifecycle: 'terminal' } as const
const ended = (turn: number, final?: string) =>
  ({ type: 'turn_ended', turn, status: 'completed', ...(final !== undefined && { final }) }) as const
const settle = ({ broker }: Running, turn = 1) => broker.call('nodes.broker.settle', { turn })

/** A node that thinks, in its first turn. */
const atWork = async (more: Parameters<LifecycleUnderTest['running']>[0] = {}): Promise<Running> => {
  const running = await lifecycle.running({ ...agent, ...more })
  await running.broker.append(started(1, running.assignment.mail), said(1, 1))
  return running
}

/** Rows that another part of the product writes. */
const write = async (sql: string): Promise<void> => {
  const { epoch } = await lifecycle.call('lifecycle.status', {})
  await lifecycle.database.query(`SET svc.epoch = '${epoch}'; ${sql}`)
}

describe('at the end of a turn', () => {
  it('one that waits for nothing is to finish, and is done with its last words', async () => {
    const work = await atWork()
    expect(await settle(work)).toEqual({ directive: 'finish', waits_for: [] })
    await work.broker.append(ended(1, 'that was it'))
    expect(await lifecycle.outcome(work.node.id)).toMatchObject({
      status: 'done',
      final_report: { body: 'that was it' },
    })
  })

  it('one with a child at work is to wait, is not done by its last words, and wakes with the report', async () => {
    const parent = await atWork()
    const child = await atWork({ parent_id: parent.node.id, name: 'hand' })
    expect(await settle(parent)).toEqual({
      directive: 'wait',
      waits_for: [{ kind: 'child', id: child.node.id, name: 'hand' }],
    })

    await parent.broker.append(ended(1, 'I have handed it on and wait.'))

    expect(await lifecycle.retrieve(parent.node.id)).toMatchObject({ status: 'idle', intent: 'idle_release' })
    expect((await lifecycle.outcome(parent.node.id)).final_report).toBeNull()
    await child.broker.push('final', 'it is done')
    const { broker, assignment } = await lifecycle.bound(parent.node.id, 2)
    expect(assignment.mail).toMatchObject([{ kind: 'report', body: 'it is done' }])
    await broker.append(started(2, assignment.mail), ended(2, 'all is done'))
    expect(await lifecycle.outcome(parent.node.id)).toMatchObject({
      status: 'done',
      final_report: { body: 'all is done' },
    })
  })

  it.each(['cancel', 'crash'] as const)('one whose last child ends by a %s wakes as well', async (how) => {
    const parent = await atWork()
    const child = await atWork({ parent_id: parent.node.id })
    await parent.broker.append(ended(1, 'I wait.'))
    if (how === 'cancel') await lifecycle.call('nodes.cancel', { id: child.node.id })
    else await child.broker.append({ type: 'turn_ended', turn: 1, status: 'failed' })
    expect((await lifecycle.bound(parent.node.id, 2)).assignment.mail).toMatchObject([
      { kind: 'notice', tier: 'urgent' },
    ])
  })

  it('a child that waits itself is waited for; a resident that rests is not, but what it waits for is', async () => {
    const parent = await atWork()
    const child = await atWork({ parent_id: parent.node.id })
    await child.broker.call('nodes.wait', {})
    await child.broker.append(ended(1))
    expect(await settle(parent)).toMatchObject({ directive: 'wait', waits_for: [{ id: child.node.id }] })

    const other = await atWork()
    const resident = await atWork({ parent_id: other.node.id, lifecycle: 'resident' })
    const below = await atWork({ parent_id: resident.node.id, name: 'below' })
    await resident.broker.append(ended(1))
    expect(await lifecycle.retrieve(resident.node.id)).toMatchObject({ status: 'idle' })
    expect(await settle(other)).toMatchObject({ waits_for: [{ id: below.node.id, name: 'below' }] })
    await lifecycle.call('nodes.cancel', { id: below.node.id })
    const { broker, assignment } = await lifecycle.bound(resident.node.id, 2)
    await broker.turn(2, assignment.mail)
    expect(await settle(other)).toEqual({ directive: 'finish', waits_for: [] })
  })

  it('two that watch each other do not wait for each other for ever', async () => {
    const one = await atWork()
    const two = await atWork({ parent_id: one.node.id })
    await write(`INSERT INTO canvas.subscriptions (subscriber, publisher, mode)
      VALUES ('${two.node.id}', '${one.node.id}', 'active')`)
    await two.broker.append(ended(1, 'first'))
    expect(await lifecycle.retrieve(two.node.id)).toMatchObject({ status: 'idle' })
    expect(await settle(one)).toEqual({ directive: 'finish', waits_for: [] })
  })

  // Three brothers that watched each other in a circle rested for good, and nobody was shown that they hung.
  it('any number that wait for each other in a circle do not so for ever', async () => {
    const parent = await atWork({ lifecycle: 'resident' })
    const ring = [parent, parent, parent].map(() => atWork({ parent_id: parent.node.id }))
    const [a, b, c] = (await Promise.all(ring)) as [Running, Running, Running]
    for (const [subscriber, publisher] of [
      [a, b],
      [b, c],
      [c, a],
    ] as const) {
      const pair = { subscriber: subscriber.node.id, publisher: publisher.node.id, mode: 'active' }
      await lifecycle.call('canvas.subscriptions.put', pair)
    }
    await a.broker.append(ended(1, 'a'))
    await b.broker.append(ended(1, 'b'))
    expect((await lifecycle.retrieve(b.node.id)).status).toBe('idle')
    expect(await settle(c)).toEqual({ directive: 'finish', waits_for: [] })
    await c.broker.append(ended(1, 'c'))
    expect((await lifecycle.bound(b.node.id, 2)).assignment.mail).toMatchObject([{ kind: 'report', body: 'c' }])
  })

  it('one that listens to it, but is woken by a clock or a job of its own, is waited for', async () => {
    const one = await atWork()
    for (const [name, rest] of [
      ['clock', (two: Running) => two.broker.call('nodes.wait', { timeout: 3600 })],
      ['job', (two: Running) => lifecycle.call('nodes.jobs.start', { id: two.node.id, command: 'make' })],
    ] as const) {
      const two = await atWork({ parent_id: one.node.id, name })
      const pair = { subscriber: two.node.id, publisher: one.node.id, mode: 'active' }
      await lifecycle.call('canvas.subscriptions.put', pair)
      await rest(two)
      await two.broker.append(ended(1))
    }
    expect((await settle(one)).waits_for).toMatchObject([{ name: 'clock' }, { name: 'job' }])
  })

  it('a running job and an open question are waited for', async () => {
    const work = await atWork()
    const job = await lifecycle.call('nodes.jobs.start' as never, { id: work.node.id, command: 'make' })
    await write(`INSERT INTO canvas.human_requests (id, node_id, kind, title, pages, status, asked_by, principal, created_at, updated_at)
      VALUES ('req_1', '${work.node.id}', 'deck', 'Which one?', '[]', 'pending', '{}', 'owner', now(), now())`)
    const { directive, waits_for } = await settle(work)
    expect({ directive, waits_for }).toMatchObject({
      directive: 'wait',
      waits_for: [
        { kind: 'job', id: (job as { id: string }).id, name: 'make' },
        { kind: 'answer', id: 'req_1', name: 'Which one?' },
      ],
    })
    await work.broker.append(ended(1, 'I wait.'))
    expect(await lifecycle.retrieve(work.node.id)).toMatchObject({ status: 'idle' })
  })

  it('its own wait, mail that came and a fresh context that is owed say what follows', async () => {
    const work = await atWork()
    await work.broker.call('nodes.wait', { reason: 'the build' })
    expect(await settle(work)).toMatchObject({
      directive: 'wait',
      waits_for: [{ kind: 'timer', id: work.node.id, name: 'the build' }],
    })
    await lifecycle.message(work.node.id, 'now')
    expect(await settle(work)).toMatchObject({ directive: 'continue' })
    await work.broker.push('final', 'done')
    expect(await settle(work)).toEqual({ directive: 'stop', waits_for: [] })
  })

  it('an explicit final report ends it, whatever it waited for', async () => {
    const parent = await atWork()
    await atWork({ parent_id: parent.node.id })
    await parent.broker.push('final', 'done without it')
    expect(await lifecycle.outcome(parent.node.id)).toMatchObject({ status: 'done' })
  })

  it('a program that has ended is done, whatever runs below it', async () => {
    const parent = await lifecycle.running({ lifecycle: 'terminal' })
    await lifecycle.create({ parent_id: parent.node.id })
    await parent.broker.turn(1, parent.assignment.mail, { final: 'exit 0' })
    expect(await lifecycle.outcome(parent.node.id)).toMatchObject({ status: 'done' })
  })

  it('is asked by its own process alone, of its newest turn', async () => {
    const work = await atWork()
    expect(await failure(settle(work, 2))).toMatchObject({ code: 'journal_conflict' })
    await lifecycle.host.lose(work.node.id, 1)
    await lifecycle.bound(work.node.id, 2)
    expect(await failure(settle(work))).toMatchObject({ code: 'stale_generation' })
    const asked = lifecycle.call('nodes.broker.settle', { id: work.node.id, turn: 1 })
    expect(await failure(asked)).toMatchObject({ code: 'node_token_required' })
  })
})
