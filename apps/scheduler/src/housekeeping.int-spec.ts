import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Cron, CronStatus, FireStatus } from '#common/contract/cron.schema.js'
import { newId } from '#common/kernel/ids.js'
import { ownerCall, SchedulerUnderTest } from '../../../test/support/scheduler-service.js'
import { writeFire } from './fire/fire.fixture.js'
import { Housekeeping } from './housekeeping.js'

let scheduler: SchedulerUnderTest
let cron: Cron
beforeAll(async () => {
  scheduler = await SchedulerUnderTest.start({ settings: { SVC_KEEP_FIRES_DAYS: 30 } })
  cron = await scheduler.create()
})
afterAll(() => scheduler.stop())

const day = 86_400_000
const ago = (days: number): Date => new Date(scheduler.clock.now() - days * day)
const round = () => scheduler.service.app.get(Housekeeping).round()
const lines = async (): Promise<FireStatus[]> =>
  (await scheduler.call('crons.fires.list', { id: cron.id, limit: 200 })).data.map(({ status }) => status)

describe('a round of clearing', () => {
  it('deletes lines that are old enough and have ended, and no other', async () => {
    const fired_at = ago(40)
    await writeFire(scheduler, cron, { slot: ago(40), status: 'succeeded', fired_at })
    await writeFire(scheduler, cron, { slot: ago(39), status: 'missed', cause: 'window', ledger: 'omitted' })
    await writeFire(scheduler, cron, { slot: ago(38), status: 'queued' })
    await writeFire(scheduler, cron, { slot: ago(37), status: 'failed', noted_at: ago(29), fired_at })
    await writeFire(scheduler, cron, { slot: ago(2), status: 'succeeded', fired_at })
    expect(await round()).toBe(2)
    expect(await lines()).toEqual(['succeeded', 'failed', 'queued'])
    const kept = await scheduler.database.query('SELECT class, removed::int FROM scheduler.retention')
    expect(kept).toContainEqual({ class: 'firings', removed: 2 })
  })

  it('takes as many steps as there are', async () => {
    await scheduler.database.query(
      `INSERT INTO scheduler.fires (cron_id, slot, trigger, status, slots, last_slot, due_at, noted_at, name, owner_path)
       SELECT $1, $2::timestamptz - n * interval '1 minute', 'schedule', 'skipped', 1, $2, $2, $2, 'n', '{}'
         FROM generate_series(1, 1201) n`,
      [cron.id, ago(50)],
    )
    expect(await round()).toBe(1201)
    expect(await round()).toBe(0)
  })

  it('deletes schedules that have been over for as long, once nothing is left of their history', async () => {
    const made = async (status: CronStatus, days: number): Promise<Cron> => {
      const one = await scheduler.create({ name: `${status} ${days}` })
      await scheduler.database.query(
        `UPDATE scheduler.crons SET status = $2, pause_reason = CASE $2 WHEN 'paused' THEN 'asked' END,
                created_at = $3, updated_at = $3 WHERE id = $1`,
        [one.id, status, ago(days)],
      )
      return one
    }
    const [completed, failed] = [await made('completed', 31), await made('failed', 31)]
    const kept = [await made('completed', 29), await made('active', 4000), await made('paused', 4000)]
    const [firedByHand, stillAtWork] = [await made('completed', 60), await made('failed', 60)]
    await writeFire(scheduler, completed, { slot: ago(31), status: 'succeeded', fired_at: ago(31) })
    await writeFire(scheduler, firedByHand, { slot: ago(3), status: 'succeeded', fired_at: ago(3), trigger: 'manual' })
    await writeFire(scheduler, stillAtWork, { slot: ago(40), status: 'running', fired_at: ago(40) })
    await round()
    const names = async () => (await scheduler.call('crons.list', { limit: 200 })).data.map(({ name }) => name)
    const left = await names()
    expect(left).toEqual(expect.arrayContaining([...kept, firedByHand, stillAtWork].map(({ name }) => name)))
    expect(left).not.toContain(completed.name)
    expect(left).not.toContain(failed.name)
    const runs = await scheduler.database.query(
      `SELECT removed::int FROM scheduler.retention WHERE class = 'schedules'`,
    )
    expect(runs).toEqual([{ removed: 2 }])
  })

  it('forgets answers under keys, deliveries and ends of nodes whose time is over', async () => {
    await scheduler.create({}, ownerCall({ idempotencyKey: 'old' }))
    await scheduler.create({}, ownerCall({ idempotencyKey: 'young' }))
    await scheduler.database.query(`UPDATE scheduler.idempotency SET expires_at = now() WHERE key = 'old'`)
    const [old, young] = [scheduler.work.node(), scheduler.work.node()]
    for (const node_id of [old, young]) {
      await scheduler.call('scheduler.node.ended', {
        source_event: node_id,
        node_id,
        how: 'canceled',
        ended_at: ago(0).toISOString(),
      })
    }
    await scheduler.database.query(
      `UPDATE scheduler.holders SET ended_at = ended_at - interval '2 days' WHERE id = $1`,
      [`node:${old}`],
    )
    await scheduler.database.query(
      `UPDATE scheduler.inbox SET received_at = now() - interval '61 days' WHERE source_event = $1`,
      [old],
    )
    await round()
    const of = (text: string) => scheduler.database.query(text)
    expect(await of('SELECT key FROM scheduler.idempotency')).toEqual([{ key: 'young' }])
    expect(await of('SELECT source_event FROM scheduler.inbox')).toEqual([{ source_event: young }])
    expect(await of('SELECT id FROM scheduler.holders WHERE ended_at IS NOT NULL')).toEqual([{ id: `node:${young}` }])
  })

  it('keeps all lines when they are to be kept for ever', async () => {
    const forever = await scheduler.another({ SVC_KEEP_FIRES_DAYS: 0 })
    const other = await scheduler.create({ name: newId('evt') })
    await writeFire(scheduler, other, { slot: ago(4000), status: 'succeeded', fired_at: ago(4000) })
    expect(await forever.app.get(Housekeeping).round()).toBe(0)
    expect(await scheduler.fires(other.id)).toHaveLength(1)
  })
})
