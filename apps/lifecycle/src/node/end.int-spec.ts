import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { take, waitFor } from '#common/testing/wait-for.js'
import {
  LifecycleUnderTest,
  nodeContext,
  ownerContext,
  said,
  started,
} from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const cancel = (id: string, ctx = ownerContext()) => lifecycle.call('nodes.cancel', { id }, ctx)
const interrupt = (id: string, ctx = ownerContext()) => lifecycle.call('nodes.interrupt', { id }, ctx)

describe('cancel', () => {
  it('ends the node for good, and has its process ended', async () => {
    const { node, broker } = await lifecycle.running()
    expect(await cancel(node.id)).toEqual({ canceled: [node.id], spared: [] })
    expect(await lifecycle.outcome(node.id)).toMatchObject({
      status: 'canceled',
      settled: true,
      error: { kind: 'canceled' },
    })
    await waitFor(() => lifecycle.host.stops.some((stop) => stop.node_id === node.id && stop.generation === 1))
    expect(await failure(broker.claim())).toMatchObject({ code: 'stale_generation' })
    expect(await lifecycle.call('lifecycle.node.principal', { node_id: node.id })).toMatchObject({ ended: true })
  })

  it('twice is illegal, and names what was refused', async () => {
    const node = await lifecycle.create()
    await cancel(node.id)
    expect(await failure(cancel(node.id))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'canceled', event: 'cancel' },
    })
  })

  it('tells the parent, which wakes', async () => {
    const { node: parent, broker, assignment } = await lifecycle.running()
    await broker.turn(1, assignment.mail)
    const child = await lifecycle.create({ parent_id: parent.id, name: 'hand' })
    await cancel(child.id)
    const { assignment: next } = await lifecycle.bound(parent.id, 2)
    expect(next.mail).toMatchObject([{ kind: 'notice', tier: 'urgent', body: `hand (${child.id}) was canceled.` }])
    const ended = (await lifecycle.recorded(parent.id)).find(({ type }) => type === 'child.ended')
    expect(ended?.data).toMatchObject({ node_id: child.id, status: 'canceled' })
  })

  it('by a node reaches its own subtree alone', async () => {
    const root = await lifecycle.create()
    const [child, sibling] = [
      await lifecycle.create({ parent_id: root.id }),
      await lifecycle.create({ parent_id: root.id }),
    ]
    const below = await lifecycle.create({ parent_id: child.id })
    const ctx = nodeContext(child.id)
    for (const id of [root.id, sibling.id]) {
      expect(await failure(cancel(id, ctx))).toMatchObject({ code: 'not_found' })
      expect(await failure(interrupt(id, ctx))).toMatchObject({ code: 'not_found' })
      expect(await failure(lifecycle.call('nodes.retrieve', { id }, ctx))).toMatchObject({ code: 'not_found' })
      expect(await failure(lifecycle.outcome(id, undefined, ctx))).toMatchObject({ code: 'not_found' })
      const read = lifecycle.call('lifecycle.node.readEvents', { id, after: 0 }, ctx)
      expect(await failure(read)).toMatchObject({ code: 'not_found' })
      const text = lifecycle.call('lifecycle.node.inProgress', { id }, ctx)
      expect(await failure(text)).toMatchObject({ code: 'not_found' })
    }
    expect((await lifecycle.call('nodes.list', { limit: 50 }, ctx)).data.map(({ id }) => id).sort()).toEqual(
      [child.id, below.id].sort(),
    )
    expect(await failure(lifecycle.call('nodes.list', { limit: 50, under: root.id }, ctx))).toMatchObject({
      code: 'not_found',
    })
    expect(await cancel(below.id, ctx)).toMatchObject({ canceled: [below.id] })
  })
})

describe('interrupt', () => {
  it('reaches the broker while a turn runs, also one that connects later', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.append(started(1, assignment.mail))
    expect(await interrupt(node.id)).toEqual({ interrupted: true })
    expect(await lifecycle.typesOf(node.id)).toContain('node.interrupted')
    expect(await take(broker.signals(), 2)).toMatchObject([{ type: 'changed' }, { type: 'interrupt', request: 1 }])
    expect(await broker.append({ type: 'turn_ended', turn: 1, status: 'interrupted' })).toMatchObject({ next: 'stop' })
    expect(await lifecycle.retrieve(node.id)).toMatchObject({ status: 'idle' })
  })

  it('says so when no turn runs', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    expect(await interrupt(node.id)).toEqual({ interrupted: false })
    await broker.turn(1, assignment.mail)
    expect(await interrupt(node.id)).toEqual({ interrupted: false })
  })

  it('of a node that has ended is illegal', async () => {
    const node = await lifecycle.create()
    await cancel(node.id)
    expect(await failure(interrupt(node.id))).toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'canceled', event: 'interrupt' },
    })
  })
})

describe('outcome', () => {
  it('without waiting says how things are', async () => {
    const node = await lifecycle.create()
    expect(await lifecycle.outcome(node.id)).toMatchObject({ status: 'active', settled: false, final_report: null })
  })

  it('waits until the work has ended, for everybody who waits', async () => {
    const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'terminal' })
    const waiting = Promise.all([lifecycle.outcome(node.id, 30), lifecycle.outcome(node.id, 30)])
    await broker.turn(1, assignment.mail, { final: 'there' })
    for (const outcome of await waiting) {
      expect(outcome).toMatchObject({ status: 'done', settled: true, final_report: { body: 'there' } })
    }
  })

  it('waits over a new process, and a rest that is not the end', async () => {
    const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'terminal' })
    const waiting = lifecycle.outcome(node.id, 30)
    await broker.turn(1, assignment.mail)
    await lifecycle.message(node.id, 'go on')
    const { broker: second } = await lifecycle.bound(node.id, 2)
    await lifecycle.host.lose(node.id, 2)
    const { broker: third, assignment: last } = await lifecycle.bound(node.id, 3)
    expect(await failure(second.append(said(2, 1)))).toMatchObject({ code: 'stale_generation' })
    await third.turn(2, last.mail, { final: 'at last' })
    expect(await waiting).toMatchObject({ settled: true, final_report: { body: 'at last' } })
  })

  it('of a resident is settled when it rests', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    const waiting = lifecycle.outcome(node.id, 30)
    await broker.turn(1, assignment.mail)
    expect(await waiting).toMatchObject({ status: 'idle', settled: true })
  })

  it('answers unsettled when the time is over', async () => {
    const node = await lifecycle.create()
    expect(await lifecycle.outcome(node.id, 1)).toMatchObject({ status: 'active', settled: false })
  })
})

describe('list', () => {
  it('gives all nodes newest first by pages, and filters', async () => {
    const cwd = `/list-${lifecycle.host.hostId}`
    const made: string[] = []
    for (let at = 0; at < 5; at += 1) made.push((await lifecycle.create({ cwd, kind: at % 2 ? 'plan' : 'review' })).id)
    const seen: string[] = []
    for (let after: string | undefined, more = true; more; ) {
      const page = await lifecycle.call('nodes.list', { cwd, limit: 2, ...(after && { after }) })
      seen.push(...page.data.map(({ id }) => id))
      more = page.has_more
      after = page.next_cursor ?? undefined
    }
    expect(seen).toEqual([...made].reverse())
    expect((await lifecycle.call('nodes.list', { cwd, kind: 'plan', limit: 50 })).data).toHaveLength(2)
    expect(await failure(lifecycle.call('nodes.list', { limit: 2, after: 'nonsense' }))).toMatchObject({
      code: 'validation_failed',
    })
  })

  it('takes the text of a filter literally', async () => {
    await lifecycle.create({ name: '100%_done' })
    expect((await lifecycle.call('nodes.list', { text: '100%_', limit: 50 })).data).toHaveLength(1)
    expect((await lifecycle.call('nodes.list', { text: '1%done', limit: 50 })).data).toHaveLength(0)
  })
})
