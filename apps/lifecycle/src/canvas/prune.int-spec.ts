import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Database } from '#common/kernel/database/database.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest, ownerContext, said, started } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const rows = <T>(sql: string, values: unknown[] = []) => lifecycle.service.app.get(Database).query<T>(sql, values)
const prune = (input: Record<string, unknown> = {}) =>
  lifecycle.call('canvas.prune', {
    older_than: 'P14D',
    dry_run: false,
    statuses: ['done', 'dead', 'canceled'],
    ...input,
  })
const exists = async (id: string) => (await rows('SELECT 1 FROM canvas.nodes WHERE id = $1', [id])).length === 1

/** Ends nodes as if it had been a month ago. */
const end = (ids: string[], status = 'done') =>
  rows(
    `UPDATE canvas.nodes SET status = $2, intent = NULL, broker_state = NULL, updated_at = now() - interval '30 days',
       created_at = created_at - interval '31 days' WHERE id = ANY ($1)`,
    [ids, status],
  )

const tree = async () => {
  const root = await lifecycle.create({ name: 'root' })
  const one = await lifecycle.create({ parent_id: root.id, name: 'one' })
  const leaf = await lifecycle.create({ parent_id: one.id, name: 'leaf' })
  return { root: root.id, one: one.id, leaf: leaf.id, ids: [root.id, one.id, leaf.id] }
}

describe('canvas.prune', () => {
  it('only says what would go unless it is told to delete; then it deletes just that, with all its rows', async () => {
    const { node, broker } = await lifecycle.running({ name: 'old' })
    await broker.append(started(1), said(1, 1, 'words of old'))
    const child = await lifecycle.create({ parent_id: node.id })
    await end([node.id, child.id])
    const preview = await prune({ dry_run: true })
    expect(preview).toMatchObject({ dry_run: true, nodes: 2, by_status: { done: 2 }, turns: 1, complete: true })
    expect(preview.bytes).toBeGreaterThanOrEqual(0)
    expect(preview.sample.map(({ id }) => id).sort()).toEqual([node.id, child.id].sort())
    expect(await exists(node.id)).toBe(true)
    const gone = await prune()
    expect(gone).toMatchObject({ dry_run: false, nodes: 2, turns: 1, events: preview.events, complete: true })
    for (const table of ['events', 'journal', 'mail', 'counters', 'passages', 'history_heads']) {
      expect(await rows(`SELECT 1 FROM canvas.${table} WHERE node_id = ANY ($1)`, [[node.id, child.id]])).toEqual([])
    }
    expect(await prune()).toMatchObject({ nodes: 0, complete: true })
  })

  it('leaves what ended a moment ago, and other statuses than those asked for', async () => {
    const { id } = await lifecycle.create()
    await lifecycle.call('nodes.cancel', { id })
    expect(await prune({ older_than: 3600 })).toMatchObject({ nodes: 0 })
    await end([id], 'canceled')
    expect(await prune({ statuses: ['done', 'dead'] })).toMatchObject({ nodes: 0 })
    expect(await prune({ statuses: ['canceled'] })).toMatchObject({ nodes: 1, by_status: { canceled: 1 } })
  })

  it('leaves everything above a node that stays, and deletes beside it', async () => {
    const kept = await tree()
    const gone = await tree()
    await end([kept.root, kept.one, ...gone.ids])
    expect(await prune({ dry_run: true })).toMatchObject({ nodes: 3 })
    expect(await prune()).toMatchObject({ nodes: 3 })
    expect(await Promise.all(kept.ids.map(exists))).toEqual([true, true, true])
    expect(await Promise.all(gone.ids.map(exists))).toEqual([false, false, false])
    await end(kept.ids)
    expect(await prune()).toMatchObject({ nodes: 3 })
  })

  it('leaves what a live node subscribes to', async () => {
    const watched = await tree()
    const watcher = await lifecycle.create()
    await rows("INSERT INTO canvas.subscriptions (subscriber, publisher, mode) VALUES ($1, $2, 'passive')", [
      watcher.id,
      watched.one,
    ])
    await end(watched.ids)
    expect(await prune({ dry_run: true })).toMatchObject({ nodes: 1, sample: [{ id: watched.leaf }] })
    expect(await prune()).toMatchObject({ nodes: 1 })
    await end([watcher.id])
    expect(await prune()).toMatchObject({ nodes: 3 })
  })

  it('leaves a node with a place on the disk or a running job', async () => {
    const [one, two] = [await lifecycle.create(), await lifecycle.create()]
    const worktree = { path: '/tmp/x', branch: 'b', base: 'c', repository: '/tmp', state: 'open', commit: null }
    await end([one.id, two.id])
    await rows('UPDATE canvas.nodes SET worktree = $2 WHERE id = $1', [one.id, JSON.stringify(worktree)])
    await rows(
      `INSERT INTO canvas.jobs (id, node_id, command, cwd, status, started_at, host_id, host_incarnation)
       VALUES ('job_1', $1, 'sleep', '/tmp', 'running', now(), 'h', 'i')`,
      [two.id],
    )
    expect(await prune()).toMatchObject({ nodes: 0 })
    await rows('UPDATE canvas.nodes SET worktree = $2 WHERE id = $1', [
      one.id,
      JSON.stringify({ ...worktree, state: 'closed' }),
    ])
    await rows("UPDATE canvas.jobs SET status = 'exited', ended_at = now() WHERE node_id = $1", [two.id])
    expect(await prune()).toMatchObject({ nodes: 2 })
  })

  it('is taken up by the next request when it was cut short, and finds the rest', async () => {
    const nodes = await Promise.all(Array.from({ length: 60 }, () => lifecycle.create()))
    await end(nodes.map(({ id }) => id))
    const stopping = new AbortController()
    const cut = lifecycle
      .call(
        'canvas.prune',
        { older_than: 0, dry_run: false, statuses: ['done'] },
        { ...ownerContext(), signal: stopping.signal },
      )
      .catch(() => undefined)
    await waitFor(
      async () =>
        (await rows('SELECT 1 FROM canvas.nodes WHERE id = ANY ($1)', [nodes.map(({ id }) => id)])).length < 60,
    )
    stopping.abort()
    await cut
    await waitFor(async () => {
      await prune()
      return (await rows('SELECT 1 FROM canvas.nodes WHERE id = ANY ($1)', [nodes.map(({ id }) => id)])).length === 0
    })
  })

  it('leaves the statistics: what was spent stays known', async () => {
    const { node, broker } = await lifecycle.running()
    await broker.append(started(1), { type: 'turn_ended', turn: 1, status: 'completed' })
    const days = () => rows<{ turns: number }>('SELECT turns FROM canvas.activity WHERE node_id = $1', [node.id])
    await waitFor(async () => (await days()).length === 1)
    await end([node.id])
    await prune()
    expect(await exists(node.id)).toBe(false)
    expect(await days()).toEqual([{ turns: 1 }])
  })
})
