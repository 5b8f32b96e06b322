import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Writer } from '#common/kernel/database/writer.js'
import { LifecycleUnderTest, ownerContext } from '../../../../test/support/lifecycle-service.js'
import { Housekeeping } from '../housekeeping.js'

let lifecycle: LifecycleUnderTest
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start({
    settings: { SVC_KEEP_NODES_DAYS: 30, SVC_KEEP_QUESTIONS_DAYS: 90 },
  })
})
afterAll(() => lifecycle.stop())

const round = () => lifecycle.service.app.get(Housekeeping).round()
const write = (text: string, values: unknown[] = []) =>
  lifecycle.service.app.get(Writer).transact(ownerContext(), async ({ tx }) => tx.send(text, values))
const classOf = async (name: string) =>
  (await lifecycle.call('retention.show', {})).classes.find((one) => one.class === name)

const question = { kind: 'deck', title: 'q', pages: [{ id: 'p', kind: 'notify', title: 'p', options: [] }] }
const exists = async (table: string, id: string): Promise<boolean> =>
  (await lifecycle.database.query(`SELECT 1 FROM canvas.${table} WHERE id = $1`, [id])).length > 0

/** A node that was canceled so many days ago. */
const ended = async (days: number, more: Record<string, unknown> = {}) => {
  const node = await lifecycle.create(more)
  await lifecycle.call('nodes.cancel', { id: node.id })
  await write(
    `UPDATE canvas.nodes SET updated_at = now() - make_interval(days => $2), created_at = created_at - make_interval(days => $2)
    WHERE id = $1`,
    [node.id, days],
  )
  return node
}

describe('a round of clearing', () => {
  it('deletes nodes that ended long enough ago, with their attachments, and no other', async () => {
    const [old, young, live] = [
      await ended(31, { attachments: [{ name: 'a', text: 'only here' }] }),
      await ended(29),
      await lifecycle.create(),
    ]
    await write("UPDATE canvas.blobs SET used_at = now() - interval '2 hours'")
    await round()
    expect(await Promise.all([old, young, live].map(({ id }) => exists('nodes', id)))).toEqual([false, true, true])
    expect(await lifecycle.database.query('SELECT 1 FROM canvas.blobs')).toEqual([])
    expect(await classOf('nodes')).toMatchObject({ days: 30, setting: 'SVC_KEEP_NODES_DAYS', removed: 1 })
    expect(await classOf('attachments')).toMatchObject({ removed: 1 })
  })

  it('keeps a content that somebody else has, or that was sent just now', async () => {
    await ended(31, { attachments: [{ name: 'a', text: 'shared' }] })
    await lifecycle.create({ attachments: [{ name: 'b', text: 'shared' }] })
    await ended(31, { attachments: [{ name: 'c', text: 'young' }] })
    await write(`UPDATE canvas.blobs SET used_at = now() - interval '2 hours' WHERE size = 6`)
    await round()
    expect(await lifecycle.database.query('SELECT size FROM canvas.blobs ORDER BY size')).toEqual([
      { size: 5 },
      { size: 6 },
    ])
  })

  it('keeps a node whose question is open', async () => {
    const node = await lifecycle.create()
    const { id } = await lifecycle.call('human.requests.create', { ...question, node_id: node.id })
    await write(
      `UPDATE canvas.nodes SET status = 'done', intent = 'done', broker_state = NULL,
      created_at = now() - interval '40 days', updated_at = now() - interval '40 days' WHERE id = $1`,
      [node.id],
    )
    await round()
    expect(await exists('nodes', node.id)).toBe(true)
    await lifecycle.call('human.requests.dismiss', { id })
    await round()
    expect(await exists('nodes', node.id)).toBe(false)
  })

  it('deletes questions that were resolved long enough ago', async () => {
    const [old, young, open] = await Promise.all(
      ['old', 'young', 'open'].map(() => lifecycle.call('human.requests.create', question)),
    )
    for (const one of [old, young]) await lifecycle.call('human.requests.dismiss', { id: one?.id })
    await write(`UPDATE canvas.human_requests SET resolved_at = now() - interval '91 days' WHERE id = $1`, [old?.id])
    await write(`UPDATE canvas.human_requests SET created_at = now() - interval '91 days' WHERE id = $1`, [open?.id])
    await round()
    const left = await Promise.all([old, young, open].map((one) => exists('human_requests', one?.id as string)))
    expect(left).toEqual([false, true, true])
  })

  it('says when it ran, what it removed and how large each class is', async () => {
    await round()
    const { classes, database_bytes } = await lifecycle.call('retention.show', {})
    expect(database_bytes).toBeGreaterThan(1_000_000)
    for (const name of ['keys', 'deliveries', 'jobs', 'questions', 'nodes', 'attachments']) {
      expect(classes.find((one) => one.class === name)).toMatchObject({ last_run_at: expect.any(String), removed: 0 })
    }
    expect(await classOf('events')).toMatchObject({ days: null, bytes: expect.any(Number) })
    const tables = await lifecycle.database.query<{ name: string }>(
      `SELECT n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname IN ('canvas', 'models') AND c.relkind = 'r'`,
    )
    expect(tables.length).toBeGreaterThan(20)
  })
})
