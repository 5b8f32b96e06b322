import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Cron } from '#common/contract/cron.schema.js'
import type { LedgerEntry } from '#common/contract/ledger.operations.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { newId } from '#common/kernel/ids.js'
import { appCall, nodeCall, ownerCall, SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'
import { writeFire } from '../fire/fire.fixture.js'

let scheduler: SchedulerUnderTest
beforeAll(async () => {
  scheduler = await SchedulerUnderTest.start()
})
afterAll(() => scheduler.stop())

const minute = 60_000
/** Long ago, where no schedule of the suite has a slot. */
const at = (n: number): Date => new Date(Date.UTC(2026, 0, 1) + n * minute)

const read = async (input: Record<string, unknown> = {}, ctx?: Context): Promise<LedgerEntry[]> =>
  (await scheduler.call('scheduler.ledger.read', { limit: 200, before: null, ...input }, ctx)).entries
const idOf = (cron: Cron, n: number): string => `${cron.id}:${at(n).getTime()}`

describe('the ledger of slots', () => {
  let cron: Cron
  beforeAll(async () => {
    cron = await scheduler.create({ name: 'report' })
    const error = { code: 'crash', message: 'The process ended.' }
    const lines = [
      { status: 'succeeded', fired_at: at(0) },
      { status: 'succeeded', cause: 'late', ledger: 'late', fired_at: new Date(at(1).getTime() + 5 * minute) },
      { status: 'failed', cause: 'work_failed', ledger: 'failed', fired_at: at(2), error },
      { status: 'skipped', cause: 'paused', ledger: 'omitted', slots: 7, last_slot: at(9) },
      { status: 'unknown', cause: 'outcome_unknown', ledger: 'unknown', fired_at: at(4) },
      { status: 'canceled', cause: 'work_canceled', ledger: 'failed', fired_at: at(5) },
    ] as const
    for (const [n, line] of lines.entries()) await writeFire(scheduler, cron, { slot: at(n), ...line })
  })

  it('has what did not go as planned, the newest first, and nothing else', async () => {
    const entries = await read({ cron_id: cron.id })
    expect(entries.map(({ id }) => id)).toEqual([5, 4, 3, 2, 1].map((n) => idOf(cron, n)))
    expect(entries.map(({ state }) => state)).toEqual(['failed', 'unknown', 'omitted', 'failed', 'late'])
  })

  it('says why, for a person and as one word', async () => {
    const entries = await read({ cron_id: cron.id })
    expect(entries.map(({ cause, message }) => [cause, message])).toEqual([
      ['work_canceled', 'Its work was canceled.'],
      ['outcome_unknown', 'Nobody saw whether it was done, and it is not run again by itself: look at what it left.'],
      ['paused', 'Left out, since the schedule was paused.'],
      ['work_failed', 'Its work failed: The process ended.'],
      ['late', 'It was fired 5 minutes late.'],
    ])
  })

  it('has the moment that was planned, how late it was, and how many it stands for', async () => {
    const [late] = await read({ cron_id: cron.id, state: 'late' })
    expect(late).toMatchObject({
      kind: 'slot',
      planned_at: at(1).toISOString(),
      happened_at: at(6).toISOString(),
      lateness_ms: 5 * minute,
      count: 1,
      cron_id: cron.id,
      name: 'report',
      request_id: null,
    })
    const [omitted] = await read({ cron_id: cron.id, state: 'omitted' })
    expect(omitted).toMatchObject({ count: 7, happened_at: null, lateness_ms: null })
  })

  it('names the call that does it now, where there is something left to do', async () => {
    const run = { method: 'POST', path: `/v1/crons/${cron.id}/run`, command: `svc cron run ${cron.id}` }
    const entries = await read({ cron_id: cron.id })
    expect(entries.map(({ action }) => action)).toEqual([run, run, run, run, null])
    const gone = await scheduler.create()
    await writeFire(scheduler, gone, { slot: at(0), status: 'failed', cause: 'refused', ledger: 'failed' })
    expect(await read({ cron_id: gone.id })).toMatchObject([{ action: { path: `/v1/crons/${gone.id}/run` } }])
    await writeFire(scheduler, gone, { slot: at(1), status: 'coalesced', cause: 'coalesced', ledger: 'omitted' })
    expect(await read({ cron_id: gone.id, state: 'omitted' })).toMatchObject([{ action: null }])
    await scheduler.call('crons.delete', { id: gone.id })
    expect(await read({ cron_id: gone.id, state: 'failed' })).toMatchObject([
      { cause: 'refused', message: 'It was refused.', action: null },
    ])
  })

  it('is read on from any entry, and from those of other parts between', async () => {
    const whole = await read({ cron_id: cron.id })
    for (const [n, { at: time, id }] of whole.entries()) {
      expect(await read({ cron_id: cron.id, before: { at: time, id } })).toEqual(whole.slice(n + 1))
      expect(await read({ cron_id: cron.id, before: { at: time, id: 'app' } })).toEqual(whole.slice(n + 1))
      expect(await read({ cron_id: cron.id, before: { at: time, id: newId('node') } })).toEqual(whole.slice(n))
    }
    expect(await read({ cron_id: cron.id, limit: 2 })).toEqual(whole.slice(0, 2))
  })

  it('keeps apart what was known at the same moment', async () => {
    const twin = await scheduler.create()
    for (const n of [1, 2, 3]) {
      await writeFire(scheduler, twin, {
        slot: at(n),
        status: 'missed',
        cause: 'window',
        ledger: 'omitted',
        noted_at: at(9),
      })
    }
    const seen: string[] = []
    for (let before: unknown = null; ; ) {
      const [entry] = await read({ cron_id: twin.id, before, limit: 1 })
      if (!entry) break
      seen.push(entry.id)
      before = { at: entry.at, id: entry.id }
    }
    expect(seen).toEqual([3, 2, 1].map((n) => idOf(twin, n)))
  })

  it('is confined to a moment, a kind and a state', async () => {
    const since = at(3).toISOString()
    expect((await read({ cron_id: cron.id, since })).map(({ id }) => id)).toEqual([5, 4, 3].map((n) => idOf(cron, n)))
    expect(await read({ kind: 'answer' })).toEqual([])
    expect(await read({ kind: 'slot', cron_id: cron.id, state: 'unknown' })).toHaveLength(1)
  })

  it('is read in the order of an index where there is much of it', async () => {
    await scheduler.database.query(
      `INSERT INTO scheduler.fires (cron_id, slot, trigger, status, cause, slots, last_slot, due_at, ledger, noted_at, name, owner_path)
       SELECT $1, t, 'schedule', 'skipped', 'overlap', 1, t, t, CASE WHEN extract(minute FROM t) = 0 THEN 'omitted' END, t, 'n', '{}'
         FROM generate_series('2001-01-01'::timestamptz, '2001-01-08', '1 minute') t`,
      [newId('cron')],
    )
    await scheduler.database.query('ANALYZE scheduler.fires')
    const database = scheduler.service.app.get(Database)
    const plan = await database.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN SELECT * FROM scheduler.fires f WHERE f.ledger IS NOT NULL AND (f.noted_at, f.cron_id, f.slot) < (now(), 'a', now())
        ORDER BY f.noted_at DESC, f.cron_id DESC, f.slot DESC LIMIT 50`,
    )
    const text = plan.map((line) => line['QUERY PLAN']).join('\n')
    expect(text).toMatch(/Index Scan using fires_ledger_idx/)
    expect(text).not.toMatch(/Sort/)
  })
})

describe('who reads what of it', () => {
  const app = newId('app')

  it('is who sees the schedule, also after its end', async () => {
    const { work } = scheduler
    const above = work.node()
    const below = work.node({ under: above })
    const crons = [
      await scheduler.create({}, nodeCall(below)),
      await scheduler.create({}, appCall(app, 'ted')),
      await scheduler.create(),
    ] as const
    const paths = [[below, above], [], []]
    for (const [n, cron] of crons.entries()) {
      const owner_path = paths[n] as string[]
      const profile = n === 1 ? 'ted' : null
      const line = { status: 'missed', cause: 'window', ledger: 'omitted', owner_path, profile } as const
      await writeFire(scheduler, cron, { slot: at(100 + n), ...line })
      await scheduler.call('crons.delete', { id: cron.id })
    }
    const [ofNode, ofTed, owners] = crons.map(({ id }) => id)
    const since = at(100).toISOString()
    const seenBy = async (ctx: Context, more = {}) =>
      (await read({ since, ...more }, ctx)).map(({ cron_id }) => cron_id)
    expect(await seenBy(ownerCall())).toEqual([owners, ofTed, ofNode])
    expect(await seenBy(nodeCall(above))).toEqual([ofNode])
    expect(await seenBy(nodeCall(below))).toEqual([ofNode])
    expect(await seenBy(nodeCall(work.node()))).toEqual([])
    expect(await seenBy(appCall(app))).toEqual([ofTed])
    expect(await seenBy(appCall(app, 'ted'))).toEqual([ofTed])
    expect(await seenBy(appCall(app, 'una'))).toEqual([])
    expect(await seenBy(ownerCall(), { node_id: below })).toEqual([ofNode])
    expect(await seenBy(ownerCall(), { app_id: app })).toEqual([ofTed])
  })
})
