import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { objectLimits, watchableNodeEvents } from '#common/contract/object.schema.js'
import type { Context } from '#common/kernel/context.js'
import type { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { appCall, nodeCall, ObjectsUnderTest, ownerCall } from '../../../../test/support/objects-service.js'
import { PlayedNodes } from './played-nodes.fixture.js'

let [objects, nodes] = [] as unknown as [ObjectsUnderTest, PlayedNodes]
beforeAll(async () => {
  objects = await ObjectsUnderTest.start()
  nodes = await PlayedNodes.start(objects.nats)
})
afterAll(async () => {
  await nodes?.stop()
  await objects?.stop()
})

let names = 0
const register = (more: object = {}) =>
  objects.call('objects.object.register', {
    name: `object-${++names}`,
    catalog: [{ event: 'built' }],
    app_id: null,
    ...more,
  })
const queue = { type: 'queue' }
const put = (watcher: string, source: string, more: object = {}, ctx?: Context) =>
  objects.call('canvas.watches.put', { watcher, source, events: null, tier: 'normal', ...more }, ctx)
const remove = (watcher: string, source: string, ctx?: Context) =>
  objects.call('canvas.watches.delete', { watcher, source }, ctx)
const list = (query: object = {}, ctx?: Context) => objects.call('canvas.watches.list', { limit: 50, ...query }, ctx)
const watchers = async (ref: string) => (await objects.call('customObjects.retrieve', { ref })).watchers
const refusal = (work: Promise<unknown>): Promise<SvcError> =>
  work.then(
    () => {
      throw new Error('it was taken')
    },
    (error: SvcError) => error,
  )
const codeOf = async (work: Promise<unknown>): Promise<string> => (await refusal(work)).code

describe('putting a watch', () => {
  it('makes an object watch another, counts it, and replaces filter and tier when it is put again', async () => {
    const [source, watcher] = [await register(), await register({ receiver: queue })]
    const first = await put(watcher.name, source.name)
    expect(first).toMatchObject({
      watcher: watcher.id,
      watcher_name: watcher.name,
      source: source.id,
      source_name: source.name,
      events: null,
      tier: 'normal',
      created_by: { kind: 'owner', id: null },
    })
    const again = await put(watcher.id, source.id, { events: ['built'], tier: 'urgent' })
    expect(again).toEqual({ ...first, events: ['built'], tier: 'urgent' })
    expect(await watchers(source.id)).toBe(1)
  })

  it('counts each watcher once, whoever comes at the same time', async () => {
    const source = await register()
    const all = await Promise.all(Array.from({ length: 8 }, () => register({ receiver: queue })))
    await Promise.all([...all, ...all].map(({ id }) => put(id, source.id)))
    expect(await watchers(source.id)).toBe(8)
  })

  it('needs a receiver in an object, and keeps it from losing that', async () => {
    const [source, watcher] = [await register(), await register()]
    expect(await codeOf(put(watcher.id, source.id))).toBe('receiver_unfit')
    const update = (receiver: object | null) => objects.call('customObjects.update', { ref: watcher.id, receiver })
    await update({ type: 'queue', max_pending: 10 })
    await put(watcher.id, source.id)
    expect(await codeOf(update(null))).toBe('receiver_unfit')
    await remove(watcher.id, source.id)
    expect((await update(null)).receiver_state).toBeNull()
  })

  it('is filtered by what the object declares, or by what of nodes can be watched', async () => {
    const [source, node] = [await register(), nodes.node()]
    const unknown = await refusal(put(node, source.id, { events: ['bulit'] }))
    expect([unknown.code, unknown.fields.declared]).toEqual(['event_not_declared', ['built']])
    const other = nodes.node()
    expect(await codeOf(put(node, other, { events: ['node.created'] }))).toBe('event_not_declared')
    const { events } = await put(node, other, { events: ['node.*'], tier: 'deferred' })
    expect(events).toEqual(watchableNodeEvents.filter((event) => event.startsWith('node.')))
  })

  it('wakes no node by what every node does that is woken', async () => {
    const [node, other, board] = [nodes.node(), nodes.node(), await register({ receiver: queue })]
    expect((await put(node, other)).events).not.toContain('node.idle')
    expect(await codeOf(put(node, other, { events: ['node.idle'] }))).toBe('validation_failed')
    expect((await put(node, other, { events: ['node.idle'], tier: 'deferred' })).events).toEqual(['node.idle'])
    expect((await put(board.id, other, { events: ['node.idle'] })).events).toEqual(['node.idle'])
  })

  it.each(['done', 'canceled'] as const)(
    'refuses a node that is %s, which may be watched all the same',
    async (status) => {
      const [gone, node] = [nodes.node({ status }), nodes.node()]
      const refused = await refusal(put(gone, node))
      expect([refused.code, refused.fields.state]).toEqual(['illegal_transition', status])
      expect((await put(node, gone)).source).toBe(gone)
    },
  )

  it('refuses a node that would watch itself', async () => {
    const node = nodes.node()
    expect(await codeOf(put(node, node))).toBe('validation_failed')
  })

  it('ends at a bound of what one watches', async () => {
    const [source, node] = [await register(), nodes.node()]
    await put(node, source.id)
    await objects.database.query(
      `INSERT INTO objects.watches (source_id, watcher_id, events, tier, created_by, created_at)
       SELECT 'obj_' || n, '${node}', '{}', 'normal', '{"kind":"owner","id":null}', now() FROM generate_series(2, ${objectLimits.watched}) n`,
    )
    const refused = await refusal(put(node, (await register()).id))
    expect([refused.code, refused.fields]).toMatchObject([
      'quota_exceeded',
      { limit: 'watched', max: objectLimits.watched },
    ])
    expect((await put(node, source.id)).source).toBe(source.id)
  })
})

describe('who may put a watch', () => {
  it('a node has itself or one below it watch its tree, and none other', async () => {
    const root = nodes.node()
    const [one, other] = [nodes.node({ parent_id: root }), nodes.node({ parent_id: root })]
    const child = nodes.node({ parent_id: one })
    const stranger = nodes.node()
    const ctx = nodeCall(one)
    expect((await put(one, other, {}, ctx)).created_by).toEqual({ kind: 'node', id: one })
    expect((await put(child, root, {}, ctx)).watcher).toBe(child)
    expect(await codeOf(put(other, one, {}, ctx))).toBe('not_found')
    expect(await codeOf(put(one, stranger, {}, ctx))).toBe('not_found')
    expect(await codeOf(remove(other, one, ctx))).toBe('not_found')
  })

  it('a node watches objects that it sees', async () => {
    const [free, own, foreign] = [
      await register(),
      await register({ app_id: 'app_a' }),
      await register({ app_id: 'app_b' }),
    ]
    const [node, ofApp] = [nodes.node(), nodes.node({ app_id: 'app_a' })]
    const asApp = nodeCall(ofApp, { appId: 'app_a' })
    expect((await put(node, free.name, {}, nodeCall(node))).source).toBe(free.id)
    expect(await codeOf(put(node, own.name, {}, nodeCall(node)))).toBe('not_found')
    expect((await put(ofApp, own.name, {}, asApp)).source).toBe(own.id)
    expect(await codeOf(put(ofApp, free.name, {}, asApp))).toBe('not_found')
    expect(await codeOf(put(ofApp, foreign.name, {}, asApp))).toBe('not_found')
    const reads = nodeCall(ofApp, { appId: 'app_a', scopes: ['svc:act', 'svc:objects:read:app:app_b'] })
    expect((await put(ofApp, foreign.name, {}, reads)).source).toBe(foreign.id)
  })

  it('whoever may read the nodes of another app has none of them watch', async () => {
    const [own, foreign] = [nodes.node({ app_id: 'app_a' }), nodes.node({ app_id: 'app_b' })]
    const ctx = appCall('app_a', { scopes: ['svc:act', 'svc:objects:read:app:app_b'] })
    expect(await codeOf(put(foreign, own, {}, ctx))).toBe('not_found')
    expect((await put(own, foreign, {}, ctx)).source).toBe(foreign)
  })

  it('only the owner has objects watch, and nobody learns whether there is one', async () => {
    const [watcher, node] = [await register({ receiver: queue }), nodes.node()]
    for (const ref of [watcher.id, 'there-is-none'])
      expect([
        await codeOf(put(ref, node, {}, nodeCall(node))),
        await codeOf(remove(ref, node, nodeCall(node))),
      ]).toEqual(['owner_required', 'owner_required'])
  })
})

describe('ending a watch', () => {
  it('is done once, and counted', async () => {
    const [source, node] = [await register(), nodes.node()]
    await put(node, source.id)
    expect(await remove(node, source.name)).toEqual({ removed: true })
    expect(await remove(node, source.name)).toEqual({ removed: false })
    expect(await watchers(source.id)).toBe(0)
  })

  it('is possible for a node on what it sees no more, which it learns nothing of', async () => {
    const [hidden, node] = [await register({ app_id: 'app_b' }), nodes.node()]
    await put(node, hidden.id)
    const ctx = nodeCall(node)
    expect(await remove(node, hidden.name, ctx)).toEqual({ removed: true })
    expect([await codeOf(remove(node, hidden.name, ctx)), await codeOf(remove(node, 'there-is-none', ctx))]).toEqual([
      'not_found',
      'not_found',
    ])
  })

  it('is possible for the owner when the node is gone', async () => {
    const source = await register()
    const gone = newId('node')
    await objects.database.query(
      `INSERT INTO objects.watches (source_id, watcher_id, events, tier, created_by, created_at)
       VALUES ('${source.id}', '${gone}', '{}', 'normal', '{"kind":"owner","id":null}', now())`,
    )
    expect(await remove(gone, source.id)).toEqual({ removed: true })
  })
})

describe('listing watches', () => {
  it('shows page by page who watches what, the newest first', async () => {
    const watcher = nodes.node()
    const sources = await Promise.all([register(), register(), register()])
    for (const { id } of sources) await put(watcher, id)
    const seen: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await list({ watcher, limit: 2, ...(after && { after }) })
      seen.push(...page.data.map(({ source }) => source))
      if (page.next_cursor === null) break
      after = page.next_cursor
    }
    expect(seen.sort()).toEqual(sources.map(({ id }) => id).sort())
    expect((await list({ source: sources[0].id })).data).toMatchObject([{ watcher, source_name: sources[0].name }])
  })

  it('is narrowed, for all but the owner, to what they see', async () => {
    const [source, node] = [await register({ app_id: 'app_b' }), nodes.node()]
    await put(node, source.id)
    expect((await list()).data.length).toBeGreaterThan(0)
    expect(await codeOf(list({}, nodeCall(node)))).toBe('validation_failed')
    expect((await list({ watcher: node }, nodeCall(node))).data).toHaveLength(1)
    expect(await codeOf(list({ source: source.id }, nodeCall(node)))).toBe('not_found')
    expect(await codeOf(list({ watcher: nodes.node() }, nodeCall(node)))).toBe('not_found')
    expect(await codeOf(list({ after: 'x' }, ownerCall()))).toBe('validation_failed')
  })
})

// the last one, since it sets the clock ahead
describe('a watch on a node', () => {
  it('counts as asked for before it was seen how the node is: what happens to that one meanwhile happens to the watch', async () => {
    const [board, node] = [await register({ receiver: queue }), nodes.node()]
    const seen = objects.clock.now()
    nodes.afterwards = () => objects.clock.advance(5000)
    const { created_at } = await put(board.id, node)
    nodes.afterwards = () => undefined
    expect(Date.parse(created_at) - seen).toBeGreaterThanOrEqual(5000)
    const [row] = await objects.database.query<{ asked_at: Date }>(
      'SELECT asked_at FROM objects.watches WHERE source_id = $1',
      [node],
    )
    expect((row?.asked_at.getTime() as number) - seen).toBeLessThan(5000)
  })
})
