import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { waitFor } from '#common/testing/wait-for.js'
import {
  LifecycleUnderTest,
  nodeContext,
  ownerContext,
  type PlayedBroker,
  started,
} from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  await lifecycle.joinModels()
})
afterAll(() => lifecycle.stop())

const ended = (turn: number, final?: string) =>
  ({ type: 'turn_ended', turn, status: 'completed', ...(final !== undefined && { final }) }) as const
const wait = (broker: PlayedBroker, input: Record<string, unknown> = {}) => broker.call('nodes.wait', input)
const eventsOf = async (id: string, type: string) =>
  (await lifecycle.recorded(id)).filter((event) => event.type === type).map(({ data }) => data)

/** A node in its first turn. */
const atWork = async (more: Parameters<LifecycleUnderTest['running']>[0] = {}) => {
  const running = await lifecycle.running({ lifecycle: 'terminal', engine: 'loop', exec: undefined, ...more })
  await running.broker.append(started(1, running.assignment.mail))
  return running
}

describe("a node's own wait", () => {
  it('releases it at the end of its turn, whatever its lifecycle, without a final report', async () => {
    for (const lifecycleOf of ['terminal', 'resident'] as const) {
      const { node, broker } = await atWork({ lifecycle: lifecycleOf })
      const { node: waiting, reached } = await wait(broker, { reason: 'the build' })
      expect({ reached, waiting: waiting.waiting }).toMatchObject({
        reached: false,
        waiting: { reason: 'the build', until: null, since: expect.any(String) },
      })
      expect(waiting.status).toBe('active')
      expect(await broker.append(ended(1, 'I wait.'))).toMatchObject({ next: 'stop' })
      expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle', intent: 'idle_release' })
      expect((await lifecycle.outcome(node.id)).final_report).toBeNull()
      expect(await eventsOf(node.id, 'node.waiting')).toMatchObject([{ reason: 'the build', until: null }])
    }
  })

  it('ends with any mail that wakes, and with no other', async () => {
    const { node, broker } = await atWork()
    await wait(broker)
    await broker.append(ended(1))
    await lifecycle.message(node.id, 'some day', 'deferred')
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle', waiting: { until: null } })

    await lifecycle.message(node.id, 'now')

    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', waiting: null })
    expect(await eventsOf(node.id, 'node.woken')).toMatchObject([{ by: 'message' }])
    expect((await lifecycle.bound(node.id, 2)).assignment.mail.map(({ body }) => body)).toEqual(['some day', 'now'])
  })

  // A message that came between the wait and the end of the turn was once read by nobody: the node slept on it.
  it('is over before it began when mail came before the end of the turn', async () => {
    const { node, broker } = await atWork()
    await wait(broker, { timeout: 3600 })
    await lifecycle.message(node.id, 'before the end')

    expect(await broker.append(ended(1))).toMatchObject({ next: 'continue' })

    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', generation: 1, waiting: null })
    expect(await eventsOf(node.id, 'node.woken')).toMatchObject([{ by: 'mail' }])
  })

  it('ends by the clock, with a notice that says so', async () => {
    const { node, broker } = await atWork()
    await wait(broker, { timeout: 1, reason: 'a sign' })
    await broker.append(ended(1))
    const { assignment } = await lifecycle.bound(node.id, 2)
    expect(assignment.mail).toMatchObject([{ kind: 'notice', source: { kind: 'system' } }])
    expect(assignment.mail[0]?.body).toMatch(/^Your wait \(a sign\) since .* is over/)
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', waiting: null })
    expect(await eventsOf(node.id, 'node.woken')).toMatchObject([{ by: 'notice' }])
  })

  // It was told so again with each look, without a pause between them.
  it('ends by the clock once, also where its worktree is gone meanwhile and it can not be woken', async () => {
    const { node, broker } = await atWork()
    await wait(broker, { timeout: 2 })
    await broker.append(ended(1))
    const { epoch } = await lifecycle.call('lifecycle.status', {})
    const gone = { path: '/nowhere', branch: 'b', base: 'c', state: 'closed', git_dir: '/nowhere/.git', commit: null }
    await lifecycle.database.query(
      `SET svc.epoch = '${epoch}'; UPDATE canvas.nodes SET worktree = '${JSON.stringify(gone)}' WHERE id = '${node.id}'`,
    )
    await waitFor(async () => (await lifecycle.retrieve(node.id)).waiting === null, { what: 'the end of the wait' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle' })
    await lifecycle.message((await lifecycle.create()).id, 'a look at all nodes')
    expect(
      (await lifecycle.database.query(`SELECT id FROM canvas.mail WHERE node_id = '${node.id}' AND kind = 'notice'`))
        .length,
    ).toBe(1)
  })

  it('ends by the clock also when its time came while the turn still ran', async () => {
    const { node, broker } = await atWork()
    const { node: waiting } = await wait(broker, { timeout: 1 })
    await waitFor(() => Date.parse(waiting.waiting?.until as string) < performance.timeOrigin + performance.now())
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'active', generation: 1 })
    await broker.append(ended(1))
    expect((await lifecycle.bound(node.id, 2)).assignment.mail).toMatchObject([{ kind: 'notice' }])
  })

  it('that is asked for twice with one key is one', async () => {
    const { node, broker } = await atWork()
    const ctx = { ...broker.ctx, idempotencyKey: 'wait-once' }
    const [one, two] = [
      await lifecycle.call('nodes.wait', { id: node.id, timeout: 50 }, ctx),
      await lifecycle.call('nodes.wait', { id: node.id, timeout: 50 }, ctx),
    ]
    expect(two.node.waiting).toEqual(one.node.waiting)
    expect(await eventsOf(node.id, 'node.waiting')).toHaveLength(1)
  })

  it('is refused to an older process and in any status but active', async () => {
    const { node, broker } = await atWork()
    await lifecycle.host.lose(node.id, 1)
    const { broker: next } = await lifecycle.bound(node.id, 2)
    expect(await failure(wait(broker))).toMatchObject({ code: 'stale_generation' })
    await next.push('final', 'done')
    expect(await failure(wait(next))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'done', event: 'wait' },
    })
  })
})

describe('a wait for another node', () => {
  it('answers as soon as it has one of the statuses', async () => {
    const { node, broker } = await atWork()
    expect(await lifecycle.call('nodes.wait', { id: node.id, status: ['active', 'dead'] })).toMatchObject({
      reached: true,
      node: { status: 'active' },
    })
    const held = lifecycle.call('nodes.wait', { id: node.id, timeout: 30 })
    await broker.push('final', 'done')
    expect(await held).toMatchObject({ reached: true, node: { status: 'done' } })

    const again = lifecycle.call('nodes.wait', { id: node.id, status: ['active'] })
    await lifecycle.message(node.id, 'once more')
    expect(await again).toMatchObject({ reached: true, node: { status: 'active', engagement: 2 } })
  })

  // Fault 14: who waited for a node that was closed waited for ever.
  it('hears that it was canceled, as who waits for its outcome does', async () => {
    const { node } = await atWork()
    const held = [lifecycle.call('nodes.wait', { id: node.id, timeout: 30 }), lifecycle.outcome(node.id, 30)]
    await lifecycle.call('nodes.cancel', { id: node.id })
    expect(await Promise.all(held)).toMatchObject([{ reached: true }, { status: 'canceled', settled: true }])
  })

  it('says after its time how it is, and changes nothing', async () => {
    const { node } = await atWork()
    const { version } = await lifecycle.retrieve(node.id)
    const answer = await lifecycle.call('nodes.wait', { id: node.id, timeout: 1 })
    expect(answer).toMatchObject({ reached: false, node: { status: 'active', waiting: null, version } })
  })

  it('reaches only what the caller reaches', async () => {
    const { node } = await atWork()
    const stranger = await lifecycle.create()
    const asked = lifecycle.call('nodes.wait', { id: node.id, timeout: 1 }, nodeContext(stranger.id))
    expect(await failure(asked)).toMatchObject({ code: 'not_found' })
    const child = await lifecycle.create({ parent_id: node.id })
    const own = lifecycle.call('nodes.wait', { id: child.id, status: ['active'] }, nodeContext(node.id))
    expect(await own).toMatchObject({ reached: true })
  })
})

describe('a restart', () => {
  it('loses no wait that runs, however short it was', async () => {
    const { node, broker } = await atWork()
    await wait(broker, { timeout: 1 })
    await broker.append(ended(1))
    await lifecycle.stopService()
    await lifecycle.another()
    await lifecycle.host.hello()
    expect((await lifecycle.bound(node.id, 2)).assignment.mail).toMatchObject([{ kind: 'notice' }])
    expect(await lifecycle.call('nodes.wait', { id: node.id, status: ['active'] }, ownerContext())).toMatchObject({
      reached: true,
    })
  })
})
