import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { RosterEntry } from '#common/contract/canvas.schema.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { LifecycleUnderTest, nodeContext, said, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const nobody = 'node_01jd0000000000000000000000'
const rows = (sql: string, values: unknown[] = []) => lifecycle.service.app.get(Database).query(sql, values)
const roster = (input: Record<string, unknown> = {}, ctx?: Context) =>
  lifecycle.call('canvas.roster', { limit: 50, ...input }, ctx)
const attention = (input: Record<string, unknown> = {}, ctx?: Context) =>
  lifecycle.call('canvas.attention', { limit: 50, ...input }, ctx)
const longAgo = (id: string) =>
  rows(
    "UPDATE canvas.nodes SET updated_at = now() - interval '1 hour', created_at = now() - interval '2 hours' WHERE id = $1",
    [id],
  )

/** A root with two children, one of which has a child. */
const tree = async () => {
  const root = await lifecycle.running({ name: 'root' })
  const one = await lifecycle.running({ parent_id: root.node.id, name: 'one' })
  const two = await lifecycle.running({ parent_id: root.node.id, name: 'two' })
  const leaf = await lifecycle.running({ parent_id: one.node.id, name: 'leaf' })
  return { root, one, two, leaf, ids: [root, one, two, leaf].map(({ node }) => node.id) }
}

describe('canvas.roster', () => {
  it('shows one line a node: who it is, what it does, what it cost', async () => {
    const { root, one } = await tree()
    await one.broker.append(started(1), said(1, 1))
    const usage = { input_tokens: 10, output_tokens: 5, cached_tokens: 2, cost_usd: 0.25 }
    await lifecycle.call('lifecycle.usage.record', {
      source_event: `r:${one.node.id}`,
      node_id: one.node.id,
      model: 'm',
      usage,
      context_tokens: 15,
    })
    const entry = (await roster({ under: root.node.id })).data.find(({ id }) => id === one.node.id)
    expect(entry).toMatchObject({
      name: 'one',
      kind: 'general',
      status: 'active',
      parent_id: root.node.id,
      root_id: root.node.id,
      depth: 1,
      children: 1,
      engine: 'exec',
      model: null,
      fault: null,
      attention: 0,
      context_tokens: 15,
      cost_usd: 0.25,
    })
    expect(entry?.age_ms).toBeGreaterThanOrEqual(0)
    expect(Date.parse(entry?.last_activity_at ?? '')).toBeGreaterThanOrEqual(Date.parse(entry?.created_at ?? ''))
  })

  it('goes on where it was while nodes come and change', async () => {
    const { root, ids } = await tree()
    const seen: RosterEntry[] = []
    for (let after: string | undefined; ; ) {
      const page = await roster({ under: root.node.id, limit: 1, ...(after && { after }) })
      seen.push(...page.data)
      await lifecycle.create({ parent_id: root.node.id, name: 'late' })
      await root.broker.push('update', 'more')
      if (!page.has_more) break
      after = page.next_cursor as string
    }
    expect(seen.map(({ id }) => id).sort()).toEqual([...ids].sort())
  })

  it('shows a node its own subtree alone', async () => {
    const { root, one, two, leaf } = await tree()
    const own = await roster({}, nodeContext(one.node.id))
    expect(own.data.map(({ name }) => name).sort()).toEqual(['leaf', 'one'])
    expect(await roster({ under: leaf.node.id }, nodeContext(one.node.id))).toMatchObject({ data: [{ name: 'leaf' }] })
    for (const under of [root.node.id, two.node.id, nobody]) {
      expect(await failure(roster({ under }, nodeContext(one.node.id)))).toMatchObject({ code: 'not_found' })
    }
  })

  it('refuses a cursor that it never gave', async () => {
    expect(await failure(roster({ after: 'x' }))).toMatchObject({ code: 'validation_failed' })
  })
})

describe('canvas.snapshot', () => {
  const snapshot = (input: Record<string, unknown> = {}, ctx?: Context) =>
    lifecycle.call('canvas.snapshot', { limit: 500, ...input }, ctx)

  it('holds the nodes, and each edge between them once', async () => {
    const { root, one, two, leaf, ids } = await tree()
    await rows("INSERT INTO canvas.subscriptions (subscriber, publisher, mode) VALUES ($1, $2, 'passive')", [
      two.node.id,
      leaf.node.id,
    ])
    const whole = await snapshot({ under: root.node.id })
    expect(whole).toMatchObject({
      objects: [],
      truncated: false,
      next_cursor: null,
      totals: { nodes: 4, by_status: { active: 4 } },
    })
    expect(whole.nodes.map(({ id }) => id).sort()).toEqual([...ids].sort())
    const spine = { type: 'spine', mode: null }
    const active = { type: 'subscription', mode: 'active' }
    const edges = [spine, active].flatMap((edge) => [
      { ...edge, from: root.node.id, to: one.node.id },
      { ...edge, from: root.node.id, to: two.node.id },
      { ...edge, from: one.node.id, to: leaf.node.id },
    ])
    expect(whole.edges).toHaveLength(7)
    expect(whole.edges).toEqual(
      expect.arrayContaining([
        ...edges,
        { type: 'subscription', from: two.node.id, to: leaf.node.id, mode: 'passive' },
      ]),
    )
  })

  it('says when there is more, and goes on: each edge comes with the node that it leads to', async () => {
    const { root, ids } = await tree()
    const first = await snapshot({ under: root.node.id, limit: 3 })
    expect(first).toMatchObject({ truncated: true, totals: { nodes: 4 } })
    const second = await snapshot({ under: root.node.id, limit: 3, after: first.next_cursor })
    expect(second).toMatchObject({ truncated: false, next_cursor: null })
    expect([...first.nodes, ...second.nodes].map(({ id }) => id).sort()).toEqual([...ids].sort())
    const keys = [...first.edges, ...second.edges].map(({ type, from, to }) => `${type} ${from} ${to}`)
    expect(new Set(keys).size).toBe(6)
    expect(keys).toHaveLength(6)
  })

  it('leaves out nodes that have ended, when only the live ones are asked for', async () => {
    const { root, leaf } = await tree()
    await lifecycle.call('nodes.cancel', { id: leaf.node.id })
    const live = await snapshot({ under: root.node.id, live: true })
    expect(live.nodes.map(({ name }) => name).sort()).toEqual(['one', 'root', 'two'])
    expect(live.totals).toMatchObject({ nodes: 4, by_status: { active: 3, canceled: 1 } })
  })

  it('tells a node nothing of what lies outside its subtree', async () => {
    const { one, leaf } = await tree()
    const own = await snapshot({}, nodeContext(one.node.id))
    expect(own.nodes).toHaveLength(2)
    expect(own.edges.map(({ from, to }) => [from, to])).toEqual([
      [one.node.id, leaf.node.id],
      [one.node.id, leaf.node.id],
    ])
    expect(own.totals.nodes).toBe(2)
  })
})

describe('canvas.attention', () => {
  it('lists faults with what can be done about them', async () => {
    const { root, leaf } = await tree()
    await rows('UPDATE canvas.nodes SET fault = $2 WHERE id = $1', [
      leaf.node.id,
      JSON.stringify({
        kind: 'rate_limit',
        message: 'slow down',
        since: '2026-01-01T00:00:00.000Z',
        retry_at: '2026-01-01T00:01:00.000Z',
      }),
    ])
    expect(await attention({ under: root.node.id })).toMatchObject({
      items: [
        {
          type: 'fault',
          node_id: leaf.node.id,
          node_name: 'leaf',
          status: 'active',
          fault: 'rate_limit',
          message: 'slow down',
          since: '2026-01-01T00:00:00.000Z',
          retry_at: '2026-01-01T00:01:00.000Z',
          remedy: 'It is tried again by itself; `svc node retry` does it now.',
        },
      ],
      has_more: false,
    })
    expect((await roster({ under: leaf.node.id })).data).toMatchObject([{ fault: 'rate_limit', attention: 1 }])
  })

  it('lists a node that is at work and shows nothing, but not while a tool of its runs', async () => {
    const { node, broker } = await lifecycle.running({ name: 'stuck' })
    await broker.append(started(1))
    await longAgo(node.id)
    expect((await attention({ under: node.id })).items).toEqual([])
    await rows("UPDATE canvas.journal SET created_at = now() - interval '1 hour' WHERE node_id = $1", [node.id])
    expect((await attention({ under: node.id })).items).toMatchObject([
      { type: 'hanging', node_id: node.id, fault: null },
    ])
    await broker.append({ type: 'tool_started', turn: 1, step: 1, call_id: 'c', name: 'bash', input: {} })
    await longAgo(node.id)
    await rows("UPDATE canvas.journal SET created_at = now() - interval '1 hour' WHERE node_id = $1", [node.id])
    expect((await attention({ under: node.id })).items).toEqual([])
  })

  it('lists an idle node that owes a report and waits for nothing', async () => {
    const parent = await lifecycle.running({ name: 'idle', lifecycle: 'terminal' })
    const id = parent.node.id
    const child = await lifecycle.running({ parent_id: id })
    await rows("UPDATE canvas.nodes SET status = 'idle', intent = 'idle_release', broker_state = NULL WHERE id = $1", [
      id,
    ])
    await longAgo(id)
    const mine = async () => (await attention({ under: id })).items.filter(({ node_id }) => node_id === id)
    expect(await mine()).toEqual([])
    await parent.broker.claim().catch(() => undefined)
    await rows('UPDATE canvas.mail SET acknowledged_at = now() WHERE node_id = $1', [id])
    // its child is at work
    expect(await mine()).toEqual([])
    await rows("UPDATE canvas.nodes SET status = 'done', intent = 'done' WHERE id = $1", [child.node.id])
    expect(await mine()).toMatchObject([{ type: 'hanging', status: 'idle' }])
  })

  it('counts for every id that was asked, also 0, and 0 for what is not there or not theirs', async () => {
    const { root, one, two, leaf } = await tree()
    const fault = JSON.stringify({ kind: 'auth', message: 'no key', since: '2026-01-01T00:00:00.000Z' })
    await rows('UPDATE canvas.nodes SET fault = $2 WHERE id = ANY ($1)', [[two.node.id, leaf.node.id], fault])
    const ids = [root.node.id, two.node.id, leaf.node.id, nobody]
    const ask = (ctx?: Context) => lifecycle.call('canvas.attentionCounts', { ids }, ctx)
    expect(await ask()).toEqual({
      counts: { [root.node.id]: 0, [two.node.id]: 1, [leaf.node.id]: 1, [nobody]: 0 },
    })
    expect((await ask(nodeContext(one.node.id))).counts).toMatchObject({ [two.node.id]: 0, [leaf.node.id]: 1 })
  })

  it('comes in pages', async () => {
    const { root, ids } = await tree()
    const fault = JSON.stringify({ kind: 'auth', message: 'no key', since: '2026-01-01T00:00:00.000Z' })
    await rows('UPDATE canvas.nodes SET fault = $2 WHERE id = ANY ($1)', [ids, fault])
    const first = await attention({ under: root.node.id, limit: 3 })
    const second = await attention({ under: root.node.id, limit: 3, after: first.next_cursor })
    expect(first).toMatchObject({ has_more: true })
    expect(second).toMatchObject({ has_more: false, next_cursor: null })
    expect([...first.items, ...second.items].map(({ node_id }) => node_id).sort()).toEqual([...ids].sort())
  })
})
