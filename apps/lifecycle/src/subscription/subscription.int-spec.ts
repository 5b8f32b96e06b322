import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

type Mode = 'active' | 'passive'
const put = (subscriber: string, publisher: string, mode: Mode = 'active', ctx = ownerContext()) =>
  lifecycle.call('canvas.subscriptions.put', { subscriber, publisher, mode }, ctx)
const remove = (subscriber: string, publisher: string, ctx = ownerContext()) =>
  lifecycle.call('canvas.subscriptions.delete', { subscriber, publisher }, ctx)
const list = (filter: Record<string, unknown>, ctx = ownerContext()) =>
  lifecycle.call('canvas.subscriptions.list', { limit: 50, ...filter }, ctx)
const seen = async (id: string) => (await lifecycle.recorded(id)).filter(({ type }) => type.startsWith('subscription.'))

/** A resident that rests, with nothing unread. */
const resting = async () => {
  const { node, broker, assignment } = await lifecycle.running()
  await broker.turn(1, assignment.mail)
  return node
}

describe('a subscription', () => {
  it('makes a node hear of another, and both say so', async () => {
    const watcher = await resting()
    const { node, broker } = await lifecycle.running()
    expect(await put(watcher.id, node.id)).toMatchObject({ subscriber: watcher.id, publisher: node.id, mode: 'active' })
    await broker.push('update', 'half of it')
    const { assignment } = await lifecycle.bound(watcher.id, 2)
    expect(assignment.mail).toMatchObject([{ kind: 'report', tier: 'normal', body: 'half of it' }])
    const event = { type: 'subscription.added', data: { subscriber: watcher.id, publisher: node.id, mode: 'active' } }
    expect(await seen(watcher.id)).toMatchObject([event])
    expect(await seen(node.id)).toMatchObject([event])
  })

  // Fault 21: watchers that were added again on each reload were told everything as many times.
  it('made again is one: what it hears comes once, and the mode is the last one', async () => {
    const watcher = await lifecycle.running()
    const { node, broker } = await lifecycle.running()
    await put(watcher.node.id, node.id, 'passive')
    await put(watcher.node.id, node.id, 'passive')
    expect(await seen(node.id)).toHaveLength(1)
    expect(await put(watcher.node.id, node.id)).toMatchObject({ mode: 'active' })
    expect((await seen(node.id)).at(-1)).toMatchObject({ data: { mode: 'active', previous_mode: 'passive' } })
    expect((await list({ publisher: node.id })).data).toHaveLength(1)
    await broker.push('update', 'once')
    const { mail } = await watcher.broker.claim()
    expect(mail.filter(({ body }) => body === 'once')).toHaveLength(1)
  })

  it('of the passive kind wakes nobody; the backlog stands in order before the message that wakes', async () => {
    const watcher = await resting()
    const { node, broker } = await lifecycle.running()
    await put(watcher.id, node.id, 'passive')
    for (const body of ['one', 'two']) await broker.push('update', body)
    await broker.push('urgent', 'three')
    expect(await lifecycle.retrieve(watcher.id)).toMatchObject({ status: 'idle' })
    await lifecycle.message(watcher.id, 'now')
    const { assignment } = await lifecycle.bound(watcher.id, 2)
    expect(assignment.mail.map(({ body, tier }) => [body, tier])).toEqual([
      ['one', 'deferred'],
      ['two', 'deferred'],
      ['three', 'deferred'],
      ['now', 'normal'],
    ])
  })

  it('is of two nodes that are there, and not of one with itself', async () => {
    const node = await lifecycle.create()
    expect(await failure(put(node.id, node.id))).toMatchObject({
      code: 'validation_failed',
      fields: { errors: [{ pointer: '/publisher', message: expect.stringContaining('another one') }] },
    })
    const nobody = 'node_01jd0000000000000000000000'
    expect(await failure(put(node.id, nobody))).toMatchObject({ code: 'not_found' })
    expect(await failure(put(nobody, node.id))).toMatchObject({ code: 'not_found' })
  })

  it('is taken from no node that was canceled, on neither side', async () => {
    const [node, gone] = [await lifecycle.create(), await lifecycle.create()]
    await lifecycle.call('nodes.cancel', { id: gone.id })
    for (const [one, two] of [
      [node.id, gone.id],
      [gone.id, node.id],
    ] as const) {
      expect(await failure(put(one, two))).toMatchObject({
        code: 'illegal_transition',
        fields: { state: 'canceled', event: 'watch' },
      })
    }
    expect(await remove(node.id, gone.id)).toEqual({ removed: false })
  })

  it('ends when it is taken back, and both say so', async () => {
    const parent = await resting()
    const { node, broker } = await lifecycle.running({ parent_id: parent.id })
    expect(await remove(parent.id, node.id)).toEqual({ removed: true })
    expect(await remove(parent.id, node.id)).toEqual({ removed: false })
    await broker.push('urgent', 'nobody hears')
    expect(await lifecycle.retrieve(parent.id)).toMatchObject({ status: 'idle' })
    expect((await seen(parent.id)).at(-1)).toMatchObject({ type: 'subscription.removed', data: { publisher: node.id } })
    expect((await seen(node.id)).at(-1)).toMatchObject({ type: 'subscription.removed' })
  })

  it('by a node is made for itself and those below it, and to nodes of its own tree', async () => {
    const [root, stranger] = [await lifecycle.create(), await lifecycle.create()]
    const [a, b] = [await lifecycle.create({ parent_id: root.id }), await lifecycle.create({ parent_id: root.id })]
    const under = await lifecycle.create({ parent_id: a.id })
    const ctx = nodeContext(a.id)
    expect(await put(a.id, b.id, 'passive', ctx)).toMatchObject({ mode: 'passive' })
    expect(await put(under.id, root.id, 'active', ctx)).toMatchObject({ mode: 'active' })
    expect(await failure(put(a.id, stranger.id, 'active', ctx))).toMatchObject({ code: 'not_found' })
    expect(await failure(put(b.id, a.id, 'active', ctx))).toMatchObject({ code: 'not_found' })
    expect(await failure(remove(root.id, a.id, ctx))).toMatchObject({ code: 'not_found' })
    expect(await failure(list({ publisher: b.id }, ctx))).toMatchObject({ code: 'not_found' })
    expect((await list({ subscriber: a.id }, ctx)).data.map(({ publisher }) => publisher).sort()).toEqual(
      [b.id, under.id].sort(),
    )
  })

  it('is listed from either side, by pages', async () => {
    const root = await lifecycle.create()
    const made: string[] = []
    for (let at = 0; at < 5; at += 1) made.push((await lifecycle.create({ parent_id: root.id })).id)
    const found: string[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const page = await list({ subscriber: root.id, limit: 2, ...(after && { after }) })
      found.push(...page.data.map(({ publisher }) => publisher))
      after = page.next_cursor
    }
    expect(found.sort()).toEqual([...made].sort())
    expect((await list({ publisher: made[0] })).data).toMatchObject([{ subscriber: root.id, mode: 'active' }])
    expect(await failure(list({}))).toMatchObject({ code: 'validation_failed' })
  })
})
