import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, started } from '../../../../test/support/lifecycle-service.js'
import { agents } from './context.fixture.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  await lifecycle.joinModels()
})
afterAll(() => lifecycle.stop())

const { agent, resting, bodies } = agents(() => lifecycle)
const watch = (subscriber: string, publisher: string, mode = 'active') =>
  lifecycle.call('canvas.subscriptions.put', { subscriber, publisher, mode })
const watches = async (subscriber: string): Promise<unknown[]> =>
  (await lifecycle.call('canvas.subscriptions.list', { subscriber, limit: 50 })).data.map(({ publisher, mode }) => [
    publisher,
    mode,
  ])
const relaunch = async (id: string): Promise<string> => (await lifecycle.call('nodes.relaunchRoot', { id })).node.id
const takenOver = async (id: string): Promise<void> => {
  await lifecycle.bound(id)
  await waitFor(async () => (await lifecycle.retrieve(id)).succession === 'taken_over', { what: 'the take-over' })
}

it('a child that watches the old root is canceled with it, and not woken by its end', async () => {
  const { node } = await resting()
  const { node: child, broker } = await agent({ parent_id: node.id, lifecycle: 'resident' })
  await watch(child.id, node.id)
  await broker.append(started(1, (await broker.claim()).mail), { type: 'turn_ended', turn: 1, status: 'completed' })
  await waitFor(async () => (await lifecycle.retrieve(child.id)).status === 'idle', { what: 'rest' })
  const next = await relaunch(node.id)
  await takenOver(next)
  expect(await lifecycle.retrieve(child.id)).toMatchObject({ status: 'canceled', generation: 1 })
  expect((await lifecycle.typesOf(child.id)).at(-1)).toBe('node.canceled')
  expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'done' })
})

it('a new root that watched somebody while it booted goes on with the closer of both ways to watch', async () => {
  const { node } = await resting()
  const { node: both } = await resting()
  const { node: fan } = await resting()
  await watch(node.id, both.id, 'active')
  await watch(fan.id, node.id, 'passive')
  const next = await relaunch(node.id)
  await watch(next, both.id, 'passive')
  await watch(next, node.id)
  await watch(node.id, next)
  await watch(fan.id, next, 'active')
  await takenOver(next)
  expect(await watches(next)).toEqual([[both.id, 'active']])
  expect(await watches(fan.id)).toEqual([[next, 'active']])
  expect(await watches(node.id)).toEqual([])
})

it('what a root is for is kept as long as a conversation can take it in, however often it is recycled', async () => {
  const prompt = 'x'.repeat(250_000)
  let { node } = await resting({ prompt: `keep the light burning ${prompt}` })
  for (let round = 1; round <= 3; round += 1) {
    ;({ node } = await lifecycle.call('nodes.recycle', { id: node.id, prompt: `round ${round} ${prompt}` }))
    const { assignment, broker } = await lifecycle.bound(node.id)
    const mail = [...assignment.mail, ...(await broker.claim()).mail]
    await broker.append(started(1, mail), { type: 'turn_ended', turn: 1, status: 'completed' })
  }
  const [row] = await lifecycle.database.query<{ characters: number }>(
    `SELECT max(length(body)) AS characters FROM canvas.mail WHERE node_id = $1`,
    [node.id],
  )
  expect(row?.characters).toBeLessThanOrEqual(256 * 1024)
  const { node: last } = await lifecycle.call('nodes.recycle', { id: node.id })
  expect(bodies((await lifecycle.bound(last.id)).assignment.mail)[0]).toContain('keep the light burning')
})

it.each(['nodes.recycle', 'nodes.relaunchRoot'] as const)(
  '%s gives the new root no more than the caller has',
  async (operation) => {
    const { node } = await resting({ scopes: ['svc:llm', 'svc:act', 'svc:schedule'] })
    const narrow = nodeContext(node.id, 1, { scopes: ['svc:llm', 'svc:act'] })
    const { node: next } = await lifecycle.call(operation, { id: node.id }, narrow)
    expect(next.scopes).toEqual(['svc:act', 'svc:llm'])
  },
)
