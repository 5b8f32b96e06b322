import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { focusLimits } from '#common/contract/focus.operations.js'
import { failure } from '#common/kernel/bus/bus.fixture.js'
import { newId } from '#common/kernel/ids.js'
import { openAdmin } from '#common/testing/admin-connection.js'
import { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
})
afterAll(() => lifecycle.stop())

const set = (pane: string, node_id: string, more: object = {}) =>
  lifecycle.call('focuses.set', { pane, node_id, ttl: 60, ...more })
const panes = async (node_id?: string): Promise<string[]> =>
  (await lifecycle.call('focuses.list', { ...(node_id && { node_id }) })).data.map(({ pane }) => pane)

/** Rows as time or another writer would leave them. */
const behind = async (sql: string): Promise<void> => {
  const connection = await openAdmin(lifecycle.database.url)
  await connection.run(`BEGIN; SET LOCAL session_replication_role = replica; ${sql}; COMMIT`)
  await connection.close()
}

describe('focuses', () => {
  it('say which node each pane shows, the last that was set, until they are deleted', async () => {
    const [one, two] = [await lifecycle.create(), await lifecycle.create()]
    await set('%1', one.id)
    const made = await set('%2', one.id, { viewer: 'mux' })
    expect(made).toMatchObject({ pane: '%2', node_id: one.id, viewer: 'mux' })
    expect(await panes()).toEqual(['%2', '%1'])
    const moved = await set('%1', two.id)
    expect(moved).toMatchObject({ node_id: two.id, viewer: null })
    expect([await panes(one.id), await panes(two.id)]).toEqual([['%2'], ['%1']])
    await lifecycle.call('focuses.delete', { pane: '%1' })
    await lifecycle.call('focuses.delete', { pane: '%1' })
    expect(await panes()).toEqual(['%2'])
    await lifecycle.call('focuses.delete', { pane: '%2' })
  })

  it('are of nodes that exist, and go with them', async () => {
    const node = await lifecycle.create()
    expect(await failure(set('a', newId('node')))).toMatchObject({ code: 'not_found' })
    await set('a', node.id)
    await lifecycle.call('nodes.cancel', { id: node.id })
    expect(await panes()).toEqual(['a'])
    await lifecycle.call('canvas.prune', { older_than: 0, dry_run: false, statuses: ['canceled'] })
    expect(await panes()).toEqual([])
  })

  it('are forgotten when they are not set again in time', async () => {
    const node = await lifecycle.create()
    await set('old', node.id)
    await behind("UPDATE canvas.focuses SET expires_at = now() - interval '1 second'")
    expect(await panes()).toEqual([])
    await set('new', node.id)
    const rows = await lifecycle.database.query('SELECT pane FROM canvas.focuses')
    expect(rows).toEqual([{ pane: 'new' }])
  })

  it('are only so many at once', async () => {
    const node = await lifecycle.create()
    await lifecycle.call('focuses.delete', { pane: 'new' })
    await behind(`INSERT INTO canvas.focuses SELECT 'p' || n, '${node.id}', null, now(), now(), now() + interval '1 hour'
      FROM generate_series(1, ${focusLimits.panes}) n`)
    expect(await failure(set('one-more', node.id))).toMatchObject({
      code: 'quota_exceeded',
      fields: { limit: 'focuses' },
    })
    expect(await set('p7', node.id)).toMatchObject({ pane: 'p7' })
  })
})
