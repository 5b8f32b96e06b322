import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { waitFor } from '#common/testing/wait-for.js'
import {
  LifecycleUnderTest,
  nodeContext,
  ownerContext,
  said,
  started,
} from '../../../../test/support/lifecycle-service.js'
import { agents } from './context.fixture.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start({ settings: { SVC_REFRESH_MS: 1500 } })
  await lifecycle.joinModels()
})
afterAll(() => lifecycle.stop())

const { agent, atWork, bodies, kinds } = agents(() => lifecycle)
const yieldNode = (id: string, note = 'mind the tests', ctx = ownerContext()) =>
  lifecycle.call('nodes.yield', { id, note }, ctx)

describe('yield', () => {
  it('in a turn begins the fresh context at its end: with note and mandate, and what was not read after it', async () => {
    const { node, broker } = await atWork({ prompt: 'build the bridge' })
    const asked = await yieldNode(node.id, 'the second pier is missing', nodeContext(node.id))
    expect(asked).toMatchObject({ status: 'active', intent: 'refresh', context: 1, generation: 1 })
    await lifecycle.message(node.id, 'how far are you?')

    expect(await broker.append(said(1, 1), { type: 'turn_ended', turn: 1, status: 'completed' })).toMatchObject({
      next: 'stop',
    })

    expect(await lifecycle.retrieve(node.id)).toMatchObject({
      status: 'active',
      intent: null,
      context: 2,
      generation: 2,
    })
    const { assignment, broker: next } = await lifecycle.bound(node.id, 2)
    expect(assignment).toMatchObject({ context: 2, turn: 1, first_ord: 4, next_ord: 4, journal: [] })
    expect(kinds(assignment.mail)).toEqual(['kickoff', 'message'])
    const [kickoff] = bodies(assignment.mail)
    expect(kickoff).toContain('context 2')
    expect(kickoff).toContain('build the bridge')
    expect(kickoff).toContain('the second pier is missing')
    await next.turn(2, assignment.mail)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle', usage: { context_tokens: 0 } })
    const types = await lifecycle.typesOf(node.id)
    expect(types.filter((type) => /yielded|refreshed/.test(type))).toEqual(['node.yielded', 'node.refreshed'])
  })

  it('between two turns begins at once, and uses no turn whose answer may have been bought', async () => {
    const { node } = await agent()
    expect(await yieldNode(node.id)).toMatchObject({ status: 'active', intent: null, context: 2, generation: 2 })
    const { assignment, broker } = await lifecycle.bound(node.id, 2)
    expect(kinds(assignment.mail)).toEqual(['kickoff', 'prompt'])
    expect(assignment.turn).toBe(1)
    await broker.turn(2, assignment.mail)
  })

  it('of a node that rests is owed until it is woken', async () => {
    const { node, broker } = await atWork()
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    expect(await yieldNode(node.id)).toMatchObject({ status: 'idle', intent: 'refresh', generation: 1 })
    await lifecycle.message(node.id, 'wake up')
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(kinds(assignment.mail)).toEqual(['kickoff', 'message'])
    expect(assignment).toMatchObject({ context: 2, turn: 1, journal: [] })
  })

  it('is still owed after an interrupt, which wants the node to stop', async () => {
    const { node, broker } = await atWork()
    await yieldNode(node.id)
    await lifecycle.call('nodes.interrupt', { id: node.id })
    await broker.append({ type: 'turn_ended', turn: 1, status: 'interrupted' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle', intent: 'refresh', context: 1 })
    await lifecycle.message(node.id, 'go on')
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(bodies(assignment.mail)[0]).toContain('turn 1 was interrupted')
  })

  it('begins also when the turn failed for good: the fresh context may get further', async () => {
    const { node, broker } = await atWork({ prompt: 'first of all' })
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    await lifecycle.message(node.id, 'measure the river')
    const { broker: second, assignment } = await lifecycle.bound(node.id, 2)
    await second.append(started(2, assignment.mail))
    await yieldNode(node.id)
    await second.append({
      type: 'turn_ended',
      turn: 2,
      status: 'failed',
      fault: { kind: 'other', message: 'too long' },
    })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', context: 2 })
    const [kickoff] = bodies((await lifecycle.bound(node.id, 3)).assignment.mail)
    expect(kickoff).toContain('turn 2 failed')
    expect(kickoff).toContain('> measure the river')
  })

  it('is refused for a program, and for a node that has ended', async () => {
    const program = await lifecycle.create()
    expect(await failure(yieldNode(program.id))).toMatchObject({ code: 'validation_failed' })
    await lifecycle.call('nodes.cancel', { id: program.id })
    expect(await failure(yieldNode(program.id))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'canceled', event: 'yield' },
    })
  })

  it('reaches whom the caller reaches', async () => {
    const { node } = await agent()
    const { node: child } = await agent({ parent_id: node.id })
    expect(await failure(yieldNode(node.id, 'x', nodeContext(child.id)))).toMatchObject({ code: 'not_found' })
    expect(await yieldNode(child.id, 'x', nodeContext(node.id))).toMatchObject({ context: 2 })
  })
})

describe('a fresh context', () => {
  // An urgent message had been read in the middle of a turn; its acknowledgement was lost with the old process, and the
  // fresh context was given it a second time.
  it('is not given what the old one took in by steering, nor loses what it only leased', async () => {
    const { node, broker } = await atWork()
    await lifecycle.message(node.id, 'turn left', 'urgent')
    await lifecycle.message(node.id, 'turn right', 'urgent')
    const [left] = (await broker.claim(true)).mail
    await broker.append({
      type: 'message',
      turn: 1,
      step: 1,
      role: 'user',
      content: [{ type: 'text', text: 'turn left', provider_metadata: { svc: { mail: left?.id } } }],
    })
    await yieldNode(node.id)
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(bodies(assignment.mail).slice(1)).toEqual(['turn right'])
  })

  it('that a message races has it once, wherever it came', async () => {
    const races = Array.from({ length: 20 }, async (_, at) => {
      const { node, broker } = await atWork()
      await yieldNode(node.id)
      await Promise.all([
        broker.append({ type: 'turn_ended', turn: 1, status: 'completed' }),
        lifecycle.message(node.id, `race ${at}`),
      ])
      const { assignment } = await lifecycle.bound(node.id, 2)
      return [kinds(assignment.mail), bodies(assignment.mail).slice(1)]
    })
    for (const [at, race] of (await Promise.all(races)).entries()) {
      expect(race).toEqual([['kickoff', 'message'], [`race ${at}`]])
    }
  })

  it('begins when the turn before it does not end in time, and says what was cut off', async () => {
    const { node, broker } = await atWork({ prompt: 'wait for ever' })
    await broker.append(said(1, 1), {
      type: 'tool_started',
      turn: 1,
      step: 1,
      call_id: 'c',
      name: 'bash',
      input: {},
    })
    await yieldNode(node.id)
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(bodies(assignment.mail)[0]).toContain('turn 1 was cut off')
    expect(assignment).toMatchObject({ context: 2, turn: 2, journal: [] })
    expect(await failure(broker.append(said(1, 2)))).toMatchObject({ code: 'stale_generation' })
    const ended = (await lifecycle.recorded(node.id)).filter(({ type }) => /^(tool|turn).ended/.test(type))
    expect(ended.map(({ type, data }) => [type, data.status])).toEqual([
      ['tool.ended', 'outcome_unknown'],
      ['turn.ended', 'interrupted'],
    ])
  })

  it('that was asked for is begun by whatever launches the node next: also the loss of its process', async () => {
    const { node } = await atWork()
    await yieldNode(node.id)
    await lifecycle.host.lose(node.id, 1)
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(kinds(assignment.mail)).toEqual(['kickoff'])
    expect(assignment).toMatchObject({ context: 2, journal: [] })
  })

  it('is written once: the next process of the same context goes on with it', async () => {
    const { node, broker } = await atWork()
    await yieldNode(node.id)
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    const { assignment } = await lifecycle.bound(node.id, 2)
    await lifecycle.host.lose(node.id, 2)
    const { assignment: again, broker: third } = await lifecycle.bound(node.id, 3)
    expect(again.mail).toEqual(assignment.mail)
    await third.append(started(2, again.mail))
    await lifecycle.host.lose(node.id, 3)
    const { assignment: last } = await lifecycle.bound(node.id, 4)
    expect(last.mail).toEqual([])
    expect(last.journal.map(({ entry }) => entry.type)).toEqual(['turn_started'])
  })

  it('tells of live children and running jobs', async () => {
    const { node, broker } = await atWork()
    const child = await lifecycle.create({ parent_id: node.id, name: 'mason' })
    const job = await lifecycle.call('nodes.jobs.start', { id: node.id, command: 'sleep 1000' }, nodeContext(node.id))
    await broker.push('update', 'half of it stands')
    await yieldNode(node.id)
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    const [kickoff] = bodies((await lifecycle.bound(node.id, 2)).assignment.mail)
    for (const part of [`mason (${child.id}`, job.id, 'half of it stands']) expect(kickoff).toContain(part)
  })

  it('of an orchestrator has its roadmap, and so has the root that takes its place', async () => {
    const { node, broker } = await atWork()
    await lifecycle.call('nodes.promote', { id: node.id, roadmap: '- [ ] lay the keel' })
    await yieldNode(node.id)
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    expect(bodies((await lifecycle.bound(node.id, 2)).assignment.mail)[0]).toContain('- [ ] lay the keel')
    const { node: next } = await lifecycle.call('nodes.recycle', { id: node.id })
    expect(bodies((await lifecycle.bound(next.id)).assignment.mail)[0]).toContain('- [ ] lay the keel')
    expect(await lifecycle.call('nodes.roadmap.retrieve', { id: next.id })).toMatchObject({ version: 1 })
  })

  it('is not begun by a node that was canceled meanwhile', async () => {
    const { node, broker } = await atWork()
    await yieldNode(node.id)
    await lifecycle.call('nodes.cancel', { id: node.id })
    expect(await failure(broker.append({ type: 'turn_ended', turn: 1, status: 'completed' }))).toMatchObject({
      code: 'stale_generation',
    })
    const other = await atWork()
    await yieldNode(other.node.id)
    await lifecycle.bound(other.node.id, 2)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'canceled', intent: null, generation: 1 })
    expect(lifecycle.host.launchesOf(node.id)).toHaveLength(1)
  })

  it('is begun after a restart of the writer, whenever that came', async () => {
    const [inTurn, between] = [await atWork(), await agent()]
    lifecycle.host.onLaunch = ({ node_id }) =>
      node_id === between.node.id ? new Promise<never>(() => undefined) : undefined
    await yieldNode(inTurn.node.id, 'before the restart')
    await yieldNode(between.node.id, 'before the restart')
    await lifecycle.stopService()
    lifecycle.host.onLaunch = () => undefined
    await lifecycle.another()
    await waitFor(async () => (await lifecycle.host.hello().catch(() => null)) !== null)
    await inTurn.broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    for (const { node } of [inTurn, between]) {
      const { assignment } = await lifecycle.bound(node.id, 2)
      expect(bodies(assignment.mail)[0]).toContain('before the restart')
    }
  })
})
