import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import type { Context } from '#common/kernel/context.js'
import { newId } from '#common/kernel/ids.js'
import { type AdminConnection, openAdmin } from '#common/testing/admin-connection.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, nodeContext, ownerContext } from '../../../../test/support/lifecycle-service.js'
import { cursorOf } from './event.position.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

interface Asked {
  readonly after?: string
  readonly since?: string
  readonly from?: 'oldest' | 'now'
  readonly types?: string[]
  readonly under?: string
  readonly limit?: number
}

const read = (asked: Asked = {}, ctx?: Context) => lifecycle.call('lifecycle.canvas.readEvents', { ...asked }, ctx)

/** All that is there to read, by pages. */
const readAll = async (asked: Asked = {}, ctx?: Context) => {
  const events = []
  for (let after = asked.after; ; ) {
    const page = await read({ ...asked, ...(after && { after }) }, ctx)
    events.push(...page.events)
    after = page.position
    // another database's transactions may hold up what was just written
    if (!page.more && !page.pending) return { events, position: after }
  }
}

/** Where what comes from now on begins, with all that was written before behind it. */
const fromNow = async () => {
  await readAll()
  return read({ from: 'now' })
}

const written = async (): Promise<string[]> =>
  (await lifecycle.database.query<{ id: string }>('SELECT id FROM canvas.events')).map(({ id }) => id)

describe('the events of all nodes', () => {
  it('come once each, in the order of each node and each tree, whatever the size of a page', async () => {
    const roots = await Promise.all([lifecycle.create(), lifecycle.create(), lifecycle.create()])
    await Promise.all(roots.flatMap(({ id }) => [lifecycle.message(id, 'a'), lifecycle.create({ parent_id: id })]))
    const expected = new Set(await written())
    for (const limit of [1, 3, 500]) {
      const { events } = await readAll({ limit })
      expect(new Set(events.map(({ id }) => id))).toEqual(expected)
      expect(events).toHaveLength(expected.size)
      const seqs = new Map<string, number>()
      for (const { subject, seq } of events) {
        expect(seq).toBe((seqs.get(subject) ?? 0) + 1)
        seqs.set(subject, seq)
      }
    }
  })

  it('begin with what comes after, for who asks from now on, and from a time for who names one', async () => {
    await lifecycle.create()
    const { position } = await fromNow()
    const node = await lifecycle.create()
    const { events } = await readAll({ after: position })
    expect(events.map(({ subject }) => subject)).toContain(node.id)
    expect(events.every(({ subject }) => subject === node.id)).toBe(true)
    const [first] = events
    const since = new Date(Date.parse(first!.time) + 60_000).toISOString()
    expect((await readAll({ since })).events).toEqual([])
    const all = await readAll({})
    const none = await readAll({ since: '2020-01-01T00:00:00.000Z' })
    expect(none.events).toEqual(all.events)
  })

  it('are those of the kinds and of the part of a tree that was asked for, children made later included', async () => {
    const root = await lifecycle.create()
    const [left, right] = [
      await lifecycle.create({ parent_id: root.id }),
      await lifecycle.create({ parent_id: root.id }),
    ]
    const { position } = await fromNow()
    const leaf = await lifecycle.create({ parent_id: left.id })
    for (const { id } of [left, right, leaf]) await lifecycle.message(id, 'hello')
    const subjects = async (asked: Asked) =>
      (await readAll({ after: position, types: ['message.accepted'], ...asked })).events.map(({ subject }) => subject)
    expect(new Set(await subjects({ under: left.id }))).toEqual(new Set([left.id, leaf.id]))
    expect(await subjects({ under: right.id })).toEqual([right.id])
    expect(new Set(await subjects({ under: root.id }))).toEqual(new Set([left.id, right.id, leaf.id]))
  })

  // Its events before the take-over were told to nobody who asked for it, or for its new root.
  it('of a node that works for another root by now are those of its whole life', async () => {
    const old = await lifecycle.create()
    const child = await lifecycle.create({ parent_id: old.id })
    const { node: root } = await lifecycle.call('nodes.recycle', { id: old.id })
    for (const [under, ctx] of [
      [child.id, ownerContext()],
      [root.id, ownerContext()],
      [undefined, nodeContext(root.id)],
      [undefined, nodeContext(child.id)],
    ] as const) {
      const { events } = await readAll({ ...(under && { under }) }, ctx)
      const told = events.filter(({ subject }) => subject === child.id).map(({ type }) => type)
      expect(told[0]).toBe('node.created')
      expect(told).toContain('node.updated')
    }
  })

  it('show a node its subtree, an application its nodes, and nobody more', async () => {
    const root = await lifecycle.create()
    const [own, other] = [
      await lifecycle.create({ parent_id: root.id }),
      await lifecycle.create({ parent_id: root.id }),
    ]
    const leaf = await lifecycle.create({ parent_id: own.id })
    const seen = await readAll({}, nodeContext(own.id))
    expect(new Set(seen.events.map(({ subject }) => subject))).toEqual(new Set([own.id, leaf.id]))
    const refused = await failure(read({ under: other.id }, nodeContext(own.id)))
    expect(refused).toMatchObject({ code: 'not_found' })
    const app = ownerContext({
      actor: { kind: 'app', principal: 'app:a', tokenId: 't', scopes: ['svc:act'], appId: 'a' },
    })
    expect((await readAll({}, app)).events).toEqual([])
  })

  it('go on after a filter that let little through, without looking at it again', async () => {
    const { position } = await fromNow()
    const node = await lifecycle.create()
    for (let at = 0; at < 5; at += 1) await lifecycle.message(node.id, 'x')
    const page = await readAll({ after: position, types: ['node.canceled'] })
    expect(page.events).toEqual([])
    expect(page.position).not.toBe(position)
    expect((await readAll({ after: page.position })).events).toEqual([])
  })

  it('go on over nodes that were pruned, also after an event of theirs', async () => {
    const gone = await lifecycle.create()
    await lifecycle.call('nodes.cancel', { id: gone.id })
    const { position, events } = await readAll()
    expect(events.at(-1)).toMatchObject({ subject: gone.id })
    await lifecycle.call('canvas.prune', { older_than: 0, dry_run: false, statuses: ['canceled'] })
    const next = await lifecycle.create()
    const after = await readAll({ after: position })
    expect(new Set(after.events.map(({ subject }) => subject))).toEqual(new Set([next.id]))
  })

  it('are refused after a position that is none, or that was never given', async () => {
    const { position } = await fromNow()
    const cut = `${position.slice(0, 12)}${position[12] === 'A' ? 'B' : 'A'}${position.slice(13)}`
    for (const after of ['7', cut, 'nonsense']) {
      expect(await failure(read({ after }))).toMatchObject({ code: 'malformed_request' })
    }
    const line = Buffer.from(position, 'base64url').toString().slice(0, 12)
    const future = cursorOf(line, { xid: '999999999999', rootId: newId('node'), treeSeq: 1 })
    expect(await failure(read({ after: future }))).toMatchObject({ code: 'cursor_expired' })
  })
})

describe('a transaction that commits late', () => {
  const open: AdminConnection[] = []
  afterEach(async () => {
    for (const connection of open.splice(0)) await connection.close()
  })

  // Numbers are given out in one order and commits come in another: who reads by number alone passes the late one over.
  it('is passed over by no reader', async () => {
    const node = await lifecycle.create()
    const { position } = await readAll()
    const late = await openAdmin(lifecycle.database.url)
    open.push(late)
    await late.run('BEGIN')
    await late.run('SET LOCAL session_replication_role = replica')
    await late.run(
      `INSERT INTO canvas.events (node_id, seq, root_id, tree_seq, id, type, time, actor, data)
       VALUES ('${node.id}', 900, '${node.id}', 900, 'evt_late', 'node.updated', now(), '{}', '{}')`,
    )
    const other = await lifecycle.create()
    const held = await read({ after: position })
    expect(held).toMatchObject({ events: [], more: false, pending: true })
    await late.run('COMMIT')
    const { events } = await readAll({ after: held.position })
    expect(events.map(({ id }) => id)).toContain('evt_late')
    expect(events.some(({ subject }) => subject === other.id)).toBe(true)
  })

  it('does not come before what younger ones wrote meanwhile in its tree', async () => {
    const root = await lifecycle.create()
    const [left, right] = [
      await lifecycle.create({ parent_id: root.id }),
      await lifecycle.create({ parent_id: root.id }),
    ]
    const below = await lifecycle.create({ parent_id: left.id })
    const { position } = await readAll()
    const holder = await openAdmin(lifecycle.database.url)
    open.push(holder)
    await holder.run('BEGIN')
    await holder.run(`SELECT 1 FROM canvas.nodes WHERE id = '${below.id}' FOR UPDATE`)
    const canceled = lifecycle.call('nodes.cancel', { id: left.id })
    await waitFor(async () => (await lifecycle.database.query('SELECT 1 FROM pg_locks WHERE NOT granted')).length > 0, {
      what: 'the older transaction to wait',
    })
    await lifecycle.message(right.id, 'meanwhile')
    await holder.run('COMMIT')
    await canceled
    const { events } = await readAll({ after: position, under: root.id })
    const rows = await lifecycle.database.query<{ id: string }>(
      `SELECT id FROM canvas.events WHERE root_id = '${root.id}' ORDER BY tree_seq`,
    )
    expect(events.length).toBeGreaterThan(3)
    expect(events.map(({ id }) => id)).toEqual(rows.slice(-events.length).map(({ id }) => id))
  })

  it('is passed over by no follower, whoever writes and however long each takes', async () => {
    const roots = await Promise.all(Array.from({ length: 4 }, () => lifecycle.create()))
    const before = new Set(await written())
    let writing = true
    let { position } = await readAll()
    const followed: string[] = []
    const follow = async (): Promise<void> => {
      for (let last = false; ; ) {
        const page = await read({ after: position, limit: 7 })
        followed.push(...page.events.map(({ id }) => id))
        position = page.position
        if (page.more) continue
        if (last) return
        last = !writing && !page.pending
      }
    }
    const slow = Array.from({ length: 4 }, async (_, writer) => {
      const client = await openAdmin(lifecycle.database.url)
      open.push(client)
      for (let at = 1; at <= 15; at += 1) {
        const seq = 10_000 * (writer + 1) + at
        const { id } = roots[writer]!
        await client.run('BEGIN')
        await client.run('SET LOCAL session_replication_role = replica')
        await client.run(
          `INSERT INTO canvas.events (node_id, seq, root_id, tree_seq, id, type, time, actor, data)
           VALUES ('${id}', ${seq}, '${id}', ${seq}, 'evt_${seq}', 'node.updated', now(), '{}', '{}')`,
        )
        await client.run(`SELECT pg_sleep(${((writer * 7 + at * 3) % 11) / 200})`)
        await client.run(at % 5 === 0 ? 'ROLLBACK' : 'COMMIT')
      }
    })
    const quick = Array.from({ length: 60 }, (_, at) => lifecycle.message(roots[at % 4]!.id, `m${at}`))
    const following = follow()
    await Promise.all([...slow, ...quick])
    writing = false
    await following
    const expected = (await written()).filter((id) => !before.has(id))
    expect(expected.length).toBeGreaterThan(100)
    expect(followed.toSorted()).toEqual(expected.toSorted())
  })
})

describe('rows that were restored from a backup', () => {
  it('let no position of before be taken for one of now, and come before all that is new', async () => {
    const old = await lifecycle.create()
    const { position } = await readAll()
    const copy = await openAdmin(lifecycle.database.url)
    await copy.run('BEGIN')
    await copy.run('SET LOCAL session_replication_role = replica')
    // as a copy of another database brings them: numbers far ahead, and a row that another transaction wrote
    await copy.run(`UPDATE canvas.events SET xid = '900000000' WHERE node_id = '${old.id}'`)
    await copy.run(`UPDATE canvas.trees SET last_xid = '900000000' WHERE root_id = '${old.id}'`)
    await copy.run('UPDATE canvas.event_line SET one = one')
    await copy.run('COMMIT')
    await copy.close()
    const expired = await failure(read({ after: position }))
    expect(expired).toMatchObject({ code: 'cursor_expired' })
    const oldest = (expired as unknown as { fields: { oldest: string } }).fields.oldest
    const fresh = await lifecycle.create()
    await lifecycle.message(old.id, 'now')
    const { events } = await readAll({ after: oldest })
    expect(events.map(({ id }) => id).toSorted()).toEqual((await written()).toSorted())
    const at = (id: string) => events.findIndex(({ subject }) => subject === id)
    expect(at(old.id)).toBeLessThan(at(fresh.id))
  })
})
