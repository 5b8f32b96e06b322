import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { take } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  await lifecycle.joinModels()
})
afterAll(() => lifecycle.stop())

const update = (id: string, body: Record<string, unknown>, ctx = ownerContext()) =>
  lifecycle.call('nodes.update', { id, ...body }, ctx)
const loop = { engine: 'loop', exec: undefined } as const
const updatesOf = async (id: string) => (await lifecycle.recorded(id)).filter(({ type }) => type === 'node.updated')

describe('update', () => {
  it('changes what is named, says what changed, and leaves the rest', async () => {
    const node = await lifecycle.create({ name: 'old', prompt: 'count the files' })
    expect(node.description).toBe('count the files')
    const next = await update(node.id, { name: 'new', model: { strength: 'light' } })
    expect(next).toMatchObject({ name: 'new', description: 'count the files', model: { strength: 'light' } })
    expect(next.version).toBeGreaterThan(node.version)
    expect(await updatesOf(node.id)).toMatchObject([
      { data: { changed: { name: 'new', model: { strength: 'light' } } } },
    ])
    expect(await update(node.id, { description: null })).toMatchObject({ description: null, name: 'new' })
  })

  it('reaches the broker that hosts the node', async () => {
    const { node, broker } = await lifecycle.running()
    const heard = take(broker.signals(), (signal) => signal.type === 'changed' && signal.name === 'renamed')
    await update(node.id, { name: 'renamed', model: { strength: 'light' } })
    expect((await heard).at(-1)).toMatchObject({ model: { strength: 'light' }, lifecycle: 'resident' })
  })

  it('by a version that is not the present one is refused, and names that', async () => {
    const node = await lifecycle.create()
    const next = await update(node.id, { name: 'one', if_match: node.version })
    expect(await failure(update(node.id, { name: 'two', if_match: node.version }))).toMatchObject({
      code: 'precondition_failed',
      fields: { version: next.version },
    })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ name: 'one' })
  })

  it('that says what is so already changes nothing, also when it is repeated after its answer was lost', async () => {
    const node = await lifecycle.create()
    const once = await update(node.id, { name: 'one', if_match: node.version })
    expect(await update(node.id, { name: 'one', if_match: node.version })).toMatchObject({ version: once.version })
    expect(await updatesOf(node.id)).toHaveLength(1)
  })

  it('to a model that nothing serves is refused for a node that thinks', async () => {
    const node = await lifecycle.create(loop)
    expect(await failure(update(node.id, { model: { strength: 'strong' } }))).toMatchObject({
      code: 'model_not_configured',
    })
    expect(await failure(update(node.id, { model: { strength: 'light', override: 'nobody/m' } }))).toMatchObject({
      code: 'model_not_configured',
    })
    const program = await lifecycle.create()
    expect(await update(program.id, { model: { strength: 'strong' } })).toMatchObject({ model: { strength: 'strong' } })
  })

  it('to terminal wakes an agent that rests, since it owes a report now', async () => {
    const { node, broker, assignment } = await lifecycle.running(loop)
    await broker.turn(1, assignment.mail)
    expect(await update(node.id, { lifecycle: 'terminal' })).toMatchObject({ status: 'active', lifecycle: 'terminal' })
    const { broker: second, assignment: next } = await lifecycle.bound(node.id, 2)
    expect(next).toMatchObject({ lifecycle: 'terminal', mail: [{ kind: 'notice' }] })
    expect(next.mail[0]?.body).toContain('final report')
    await second.turn(2, next.mail, { final: 'that is all' })
    expect(await lifecycle.outcome(node.id)).toMatchObject({ status: 'done', final_report: { body: 'that is all' } })
  })

  it('to resident keeps a node after its turn', async () => {
    const { node, broker, assignment } = await lifecycle.running({ ...loop, lifecycle: 'terminal' })
    await update(node.id, { lifecycle: 'resident' })
    await broker.turn(1, assignment.mail, { final: 'so far' })
    const { mail } = await broker.claim()
    expect(mail).toMatchObject([{ kind: 'notice' }])
    await broker.turn(2, mail, { final: 'so far' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle' })
  })

  it('is not taken of a canceled node, nor of one that the caller does not reach', async () => {
    const [node, other] = [await lifecycle.create(), await lifecycle.create()]
    expect(await failure(update(node.id, { name: 'x' }, nodeContext(other.id)))).toMatchObject({ code: 'not_found' })
    await lifecycle.call('nodes.cancel', { id: node.id })
    expect(await failure(update(node.id, { name: 'x' }))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'canceled', event: 'update' },
    })
  })
})
