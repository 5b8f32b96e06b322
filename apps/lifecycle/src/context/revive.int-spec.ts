import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, ownerContext, started } from '../../../../test/support/lifecycle-service.js'
import { agents } from './context.fixture.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  await lifecycle.joinModels()
})
afterAll(() => lifecycle.stop())

const { agent, atWork, resting, bodies, kinds } = agents(() => lifecycle)
const revive = (id: string, more: { mode?: 'resume' | 'fresh'; prompt?: string } = {}, ctx = ownerContext()) =>
  lifecycle.call('nodes.revive', { id, ...more }, ctx)

/** Given up after its first turn failed. */
const dead = async (prompt = 'do it') => {
  const made = await atWork({ prompt })
  const fault = { kind: 'other', message: 'the roof fell in' } as const
  await made.broker.append({ type: 'turn_ended', turn: 1, status: 'failed', fault })
  return made
}

describe('revive', () => {
  it('of a dead node begins a new piece of work with its conversation, and tells it what had happened', async () => {
    const { node } = await dead()
    const { node: now, revived } = await revive(node.id)
    expect({ revived, ...now }).toMatchObject({
      revived: true,
      status: 'active',
      engagement: 2,
      context: 1,
      fault: null,
    })
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(kinds(assignment.mail)).toEqual(['notice'])
    expect(bodies(assignment.mail)[0]).toContain('the roof fell in')
    expect(assignment.journal).toHaveLength(2)
    expect(await lifecycle.typesOf(node.id)).toContain('node.revived')
  })

  it('with a prompt gives the node that instead', async () => {
    const { node } = await resting()
    expect(await revive(node.id, { prompt: 'paint it' })).toMatchObject({ revived: true, node: { engagement: 1 } })
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(assignment.mail).toMatchObject([{ kind: 'prompt', body: 'paint it', source: { kind: 'owner' } }])
  })

  // A node that was revived fresh once knew nothing of what it was for.
  it('in fresh mode begins a new context that knows the mandate, the note and the newest reports', async () => {
    const { node, broker, assignment } = await agent({ prompt: 'map the coast', lifecycle: 'terminal' })
    await broker.append(started(1, assignment.mail))
    await lifecycle.call('nodes.yield', { id: node.id, note: 'the north is done' }, nodeContext(node.id))
    await broker.push('final', 'the map')
    const { node: now } = await revive(node.id, { mode: 'fresh', prompt: 'now the islands' })
    expect(now).toMatchObject({ status: 'active', context: 2, engagement: 2 })
    const { assignment: given } = await lifecycle.bound(node.id, 2)
    expect(kinds(given.mail)).toEqual(['kickoff', 'prompt'])
    for (const part of ['map the coast', 'the north is done', 'the map']) expect(bodies(given.mail)[0]).toContain(part)
    expect(given.journal).toEqual([])
  })

  it('keeps what began the present piece of work for the next context', async () => {
    const { node } = await dead('the first thing')
    await revive(node.id, { prompt: 'the second thing' })
    const { broker, assignment } = await lifecycle.bound(node.id, 2)
    await broker.append(started(2, assignment.mail))
    await lifecycle.call('nodes.yield', { id: node.id, note: 'n' })
    await broker.append({ type: 'turn_ended', turn: 2, status: 'completed' })
    const [kickoff] = bodies((await lifecycle.bound(node.id, 3)).assignment.mail)
    expect(kickoff).toContain('the first thing')
    expect(kickoff).toContain('the second thing')
  })

  it('of one that is at work changes nothing, and in fresh mode does as yield does', async () => {
    const { node, broker } = await atWork()
    expect(await revive(node.id)).toMatchObject({ revived: false, node: { generation: 1, intent: null } })
    expect(await revive(node.id, { mode: 'fresh' })).toMatchObject({ revived: false, node: { intent: 'refresh' } })
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', context: 2, generation: 2 })
  })

  // Two brokers of one node once ran because each of two revivals had seen it dead.
  it('asked for twice at once launches one process', async () => {
    const { node } = await dead()
    const answers = await Promise.all([revive(node.id), revive(node.id), revive(node.id)])
    expect(answers.filter(({ revived }) => revived)).toHaveLength(1)
    await lifecycle.bound(node.id, 2)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ engagement: 2, generation: 2 })
    expect(new Set(lifecycle.host.launchesOf(node.id).map(({ generation }) => generation))).toEqual(new Set([1, 2]))
  })

  it('while a launch is under way, that is not recorded yet, leaves it alone', async () => {
    const { node } = await dead()
    const gate = Promise.withResolvers<void>()
    lifecycle.host.onLaunch = ({ node_id }) => (node_id === node.id ? gate.promise : undefined)
    await revive(node.id)
    await waitFor(() => lifecycle.host.launchesOf(node.id).length === 2)
    expect(await revive(node.id)).toMatchObject({ revived: false, node: { generation: 2 } })
    gate.resolve()
    lifecycle.host.onLaunch = () => undefined
    await lifecycle.bound(node.id, 2)
    expect(await revive(node.id)).toMatchObject({ revived: false, node: { generation: 2 } })
    expect(new Set(lifecycle.host.launchesOf(node.id).map(({ generation }) => generation))).toEqual(new Set([1, 2]))
  })

  it('of one that waits for its next try launches it now', async () => {
    const { node, broker } = await atWork()
    await broker.append({
      type: 'turn_ended',
      turn: 1,
      status: 'failed',
      fault: { kind: 'rate_limit', message: 'later', retry_after_ms: 3_600_000 },
    })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', fault: { kind: 'rate_limit' } })
    expect(await revive(node.id)).toMatchObject({ revived: true, node: { fault: null } })
    const { generation } = await lifecycle.retrieve(node.id)
    await lifecycle.bound(node.id, generation)
  })

  it('of a canceled node leaves its children canceled, and says so', async () => {
    const { node } = await atWork()
    const child = await lifecycle.create({ parent_id: node.id })
    await lifecycle.call('nodes.cancel', { id: node.id })
    expect(await revive(node.id)).toMatchObject({ revived: true, left_canceled: [child.id] })
    expect(await lifecycle.retrieve(child.id)).toMatchObject({ status: 'canceled' })
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(bodies(assignment.mail)[0]).toContain(child.id)
  })

  it('of a program hands it its mandate again, as a new piece of work', async () => {
    const { node, broker, assignment } = await lifecycle.running({ prompt: 'compile', lifecycle: 'terminal' })
    await broker.turn(1, assignment.mail, { final: 'compiled' })
    expect(await revive(node.id, { mode: 'fresh' })).toMatchObject({
      revived: true,
      node: { engagement: 2, context: 1 },
    })
    const { assignment: again } = await lifecycle.bound(node.id, 2)
    expect(again.mail).toMatchObject([{ kind: 'prompt', body: 'compile' }])
  })

  it('with one key is one revival', async () => {
    const { node } = await dead()
    const ctx = ownerContext({ idempotencyKey: `revive-${node.id}` })
    const first = await revive(node.id, {}, ctx)
    expect(await revive(node.id, {}, ctx)).toEqual(first)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ engagement: 2, generation: 2 })
  })

  it('by a node reaches what is below it', async () => {
    const { node } = await resting()
    const { node: child } = await agent({ parent_id: node.id })
    expect(await failure(revive(node.id, {}, nodeContext(child.id)))).toMatchObject({ code: 'not_found' })
    expect(await revive(child.id, {}, nodeContext(node.id))).toMatchObject({ revived: false })
  })

  it('of a node whose worktree is gone is refused', async () => {
    const { node } = await dead()
    const worktree = JSON.stringify({ path: '/t', branch: 'b', base: 'c', state: 'closed' })
    await lifecycle.database.query(
      `SET svc.epoch = '${(await lifecycle.call('lifecycle.status', {})).epoch}';
       UPDATE canvas.nodes SET worktree = '${worktree}' WHERE id = '${node.id}'`,
    )
    expect(await failure(revive(node.id))).toMatchObject({ code: 'illegal_transition', fields: { state: 'closed' } })
  })
})
