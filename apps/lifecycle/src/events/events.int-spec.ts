import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { JournalEntry } from '#common/contract/index.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { newId } from '#common/kernel/ids.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, ownerContext, said, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1)

describe('events', () => {
  it('are numbered without a gap, for each node and for its tree, whoever writes at once', async () => {
    const root = await lifecycle.create()
    const children = await Promise.all(Array.from({ length: 6 }, () => lifecycle.running({ parent_id: root.id })))
    await Promise.all([
      ...children.flatMap(({ node, broker, assignment }) => [
        broker.turn(1, assignment.mail, { final: 'done' }),
        lifecycle.message(node.id, 'a').catch(() => undefined),
        broker.push('update', 'x').catch(() => undefined),
      ]),
      ...Array.from({ length: 10 }, () => lifecycle.message(root.id, 'hello')),
      lifecycle.create({ parent_id: root.id }),
    ])
    const tree = await lifecycle.recorded(root.id, true)
    expect(tree.map(({ tree_seq }) => tree_seq)).toEqual(upTo(tree.length))
    for (const id of [root.id, ...children.map(({ node }) => node.id)]) {
      const own = await lifecycle.recorded(id)
      expect(own.map(({ seq }) => seq)).toEqual(upTo(own.length))
      expect(tree.filter(({ subject }) => subject === id).map(({ seq }) => seq)).toEqual(upTo(own.length))
    }
  })

  it('go out on the tail after their commit, each once and in order', async () => {
    const { node, broker, assignment } = await lifecycle.running()
    await broker.turn(1, assignment.mail)
    const recorded = await lifecycle.recorded(node.id)
    await waitFor(() => lifecycle.events.filter(({ subject }) => subject === node.id).length >= recorded.length)
    expect(lifecycle.events.filter(({ subject }) => subject === node.id)).toEqual(recorded)
  })

  it('name who acted, and the request', async () => {
    const ctx = ownerContext({ requestId: 'req_42' })
    const node = await lifecycle.create({}, ctx)
    expect(await lifecycle.recorded(node.id)).toMatchObject([
      { type: 'node.created', actor: { kind: 'owner', id: null }, correlation_id: 'req_42', root_id: node.id },
    ])
  })

  it('are read from a position, at most so many, with the number of the newest', async () => {
    const { node } = await lifecycle.running()
    for (const body of ['a', 'b', 'c']) await lifecycle.message(node.id, body)
    const page = await lifecycle.call('lifecycle.node.readEvents', { id: node.id, after: 1, limit: 2 })
    expect(page).toMatchObject({ events: [{ seq: 2 }, { seq: 3 }], head: 5, settled: false })
    await lifecycle.call('nodes.cancel', { id: node.id })
    const rest = await lifecycle.call('lifecycle.node.readEvents', { id: node.id, after: 5 })
    expect(rest).toMatchObject({ events: [{ type: 'node.canceled' }], settled: true })
    const none = await failure(lifecycle.call('lifecycle.node.readEvents', { id: newId('node'), after: 0 }))
    expect(none).toMatchObject({ code: 'not_found' })
  })

  // The bus was away when a node ended: its streams ended for good, and then it was told what its last answer had cost.
  it('of an ended node are not all there until each of its answers is accounted for', async () => {
    const { node, broker, assignment } = await lifecycle.running({ lifecycle: 'terminal' })
    const answer = { ...said(1, 1, 'all is well'), model: 'mock/m' } as JournalEntry
    await broker.append(started(1, assignment.mail), answer)
    await broker.append({ type: 'turn_ended', turn: 1, status: 'completed', final: 'all is well' })
    const read = () => lifecycle.call('lifecycle.node.readEvents', { id: node.id, after: 0, limit: 200 })
    expect(await read()).toMatchObject({ settled: false })
    const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 0, cost_usd: 1 }
    const told = { source_event: `last:${node.id}`, node_id: node.id, model: 'mock/m', usage }
    await lifecycle.call('lifecycle.usage.record', told)
    const { events, settled } = await read()
    expect([settled, events.at(-1)?.type]).toEqual([true, 'node.usage'])
  })

  // Some forty large reports were once more than one message of the bus carries, and nobody could read past them.
  it('that are large come in smaller pages, and none is left out', async () => {
    const { node, broker } = await lifecycle.running()
    const body = 'x'.repeat(250 * 1024)
    await Promise.all(Array.from({ length: 20 }, () => broker.push('update', body)))
    const first = await lifecycle.call('lifecycle.node.readEvents', { id: node.id, after: 0, limit: 500 })
    expect(first.events.length).toBeLessThan(first.head)
    const all = await lifecycle.recorded(node.id)
    expect(all.map(({ seq }) => seq)).toEqual(upTo(first.head))
  })

  it('show long texts in part, so that one event stays small', async () => {
    const { node, broker } = await lifecycle.running()
    await broker.append(started(1), said(1, 1, 'y'.repeat(100_000)))
    const shown = (await lifecycle.recorded(node.id)).find(({ type }) => type === 'message.completed')
    expect(JSON.stringify(shown).length).toBeLessThan(10_000)
  })
})

describe('usage', () => {
  it('of a model call is counted once, however often it is told', async () => {
    const node = await lifecycle.create()
    const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 2, cost_usd: 0.25 }
    const input = { source_event: `call:${node.id}`, node_id: node.id, model: 'mock/m', usage, context_tokens: 15 }
    const told = await Promise.all(Array.from({ length: 5 }, () => lifecycle.call('lifecycle.usage.record', input)))
    expect(told.filter(({ recorded }) => recorded)).toHaveLength(1)
    await lifecycle.call('lifecycle.usage.record', { ...input, source_event: 'next', context_tokens: 40 })
    expect((await lifecycle.retrieve(node.id)).usage).toEqual({
      input_tokens: 20,
      output_tokens: 10,
      cached_tokens: 4,
      cost_usd: 0.5,
      context_tokens: 40,
    })
    expect((await lifecycle.typesOf(node.id)).filter((type) => type === 'node.usage')).toHaveLength(2)
  })

  it('of a call that is no step of its conversation leaves the size of that as it was', async () => {
    const node = await lifecycle.create()
    const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 0, cost_usd: 1 }
    const input = { node_id: node.id, model: 'mock/m', usage }
    await lifecycle.call('lifecycle.usage.record', { ...input, source_event: `step:${node.id}`, context_tokens: 15 })
    await lifecycle.call('lifecycle.usage.record', { ...input, source_event: `llm:${node.id}` })
    expect((await lifecycle.retrieve(node.id)).usage).toMatchObject({ input_tokens: 20, context_tokens: 15 })
  })

  it('of a node that is gone is taken, so that it is not told for ever', async () => {
    const usage = { input_tokens: 1, output_tokens: 1, cached_tokens: 0, cost_usd: 0 }
    const input = { source_event: 'gone', node_id: newId('node'), model: 'm', usage, context_tokens: 0 }
    expect(await lifecycle.call('lifecycle.usage.record', input)).toEqual({ recorded: true })
  })
})
