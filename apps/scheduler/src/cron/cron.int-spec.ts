import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { Cron } from '#common/contract/cron.schema.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { newId } from '#common/kernel/ids.js'
import { appCall, nodeCall, ownerCall, SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'
import { writeFire } from '../fire/fire.fixture.js'
import type { FireRecord } from '../fire/fire.record.js'

let scheduler: SchedulerUnderTest
beforeAll(async () => {
  scheduler = await SchedulerUnderTest.start()
})
afterAll(() => scheduler.stop())

const hour = 3_600_000
const list = async (ctx?: Context, query: Record<string, unknown> = {}): Promise<string[]> =>
  (await scheduler.call('crons.list', { limit: 200, ...query }, ctx)).data.map(({ id }) => id)

describe('reading schedules', () => {
  const app = newId('app')
  let crons: Record<'owners' | 'of above' | 'of below' | 'of app' | 'of ted', Cron>
  let [above, below, beside] = ['', '', '']

  beforeAll(async () => {
    const { work } = scheduler
    above = work.node()
    below = work.node({ under: above })
    beside = work.node({ under: above })
    crons = {
      owners: await scheduler.create(),
      'of above': await scheduler.create({}, nodeCall(above)),
      'of below': await scheduler.create({}, nodeCall(below)),
      'of app': await scheduler.create({}, appCall(app)),
      'of ted': await scheduler.create({}, appCall(app, 'ted')),
    }
  })

  const readers = (): [string, Context, (keyof typeof crons)[]][] => [
    ['the owner', ownerCall(), ['owners', 'of above', 'of below', 'of app', 'of ted']],
    ['a node above', nodeCall(above), ['of above', 'of below']],
    ['the node', nodeCall(below), ['of below']],
    ['a node beside', nodeCall(beside), []],
    ['the application', appCall(app), ['of app', 'of ted']],
    ['one profile of it', appCall(app, 'ted'), ['of ted']],
    ['another profile', appCall(app, 'una'), []],
    ['another application', appCall(newId('app')), []],
  ]

  it('shows each reader what is theirs, and of the rest that there is none', async () => {
    for (const [who, ctx, seen] of readers()) {
      expect([who, (await list(ctx)).sort()]).toEqual([who, seen.map((name) => crons[name].id).sort()])
      for (const [name, { id }] of Object.entries(crons)) {
        const reads = ['crons.retrieve', 'crons.next', 'crons.fires.list'] as const
        const answers = await Promise.allSettled(
          reads.map((read) => scheduler.call(read, { id, limit: 10, count: 1 }, ctx)),
        )
        const codes = answers.map((one) => (one.status === 'fulfilled' ? 'seen' : one.reason.code))
        const wanted = seen.includes(name as keyof typeof crons) ? 'seen' : 'not_found'
        expect([who, name, codes]).toEqual([who, name, reads.map(() => wanted)])
      }
    }
  })

  it('lets nobody change what they do not see', async () => {
    for (const change of ['crons.pause', 'crons.resume', 'crons.delete'] as const) {
      const missing = await scheduler.call(change, { id: newId('cron') }, nodeCall(beside)).catch((error) => error)
      const hidden = await scheduler
        .call(change, { id: crons['of below'].id }, nodeCall(beside))
        .catch((error) => error)
      expect([missing.code, hidden.code]).toEqual(['not_found', 'not_found'])
      expect(hidden.message).toBe(`There is no schedule ${crons['of below'].id}.`)
    }
  })

  it('is about the node and the application that are named, and no other', async () => {
    const { id } = crons['of below']
    expect(await scheduler.call('crons.retrieve', { id, node_id: below })).toMatchObject({ id })
    for (const guard of [{ node_id: above }, { app_id: app }, { node_id: below, app_id: app }]) {
      await expect(scheduler.call('crons.retrieve', { id, ...guard })).rejects.toMatchObject({ code: 'not_found' })
      await expect(scheduler.call('crons.delete', { id, ...guard })).rejects.toMatchObject({ code: 'not_found' })
    }
    expect(await list(ownerCall(), { node_id: below })).toEqual([id])
    expect((await list(ownerCall(), { app_id: app })).sort()).toEqual([crons['of app'].id, crons['of ted'].id].sort())
  })

  it('goes page by page, the newest first', async () => {
    const whole = await list()
    const paged: string[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const page = await scheduler.call('crons.list', { limit: 2, ...(after && { after }) })
      paged.push(...page.data.map(({ id }) => id))
      after = page.next_cursor
    }
    expect(paged).toEqual(whole)
    await expect(scheduler.call('crons.list', { limit: 2, after: 'nonsense' })).rejects.toMatchObject({
      code: 'validation_failed',
    })
  })

  it('filters by status', async () => {
    await scheduler.call('crons.pause', { id: crons.owners.id })
    expect(await list(ownerCall(), { status: 'paused' })).toEqual([crons.owners.id])
    expect(await list(ownerCall(), { status: 'active' })).not.toContain(crons.owners.id)
  })
})

describe('what became of its slots', () => {
  it('is listed page by page, the newest first; the last that was fired stands with the schedule', async () => {
    const cron = await scheduler.create()
    const at = (n: number): Date => new Date(Date.parse(cron.created_at) - n * hour)
    for (const n of [1, 2, 3, 4, 5]) {
      const fired: Partial<FireRecord> =
        n === 3 ? { status: 'succeeded', fired_at: at(n) } : { status: 'skipped', cause: 'overlap' }
      await writeFire(scheduler, cron, { slot: at(n), ...fired })
    }
    const slots: string[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const page = await scheduler.call('crons.fires.list', { id: cron.id, limit: 2, ...(after && { after }) })
      slots.push(...page.data.map(({ slot }) => slot))
      after = page.next_cursor
    }
    expect(slots).toEqual([1, 2, 3, 4, 5].map((n) => at(n).toISOString()))
    const last_fire = { slot: at(3).toISOString(), status: 'succeeded', lateness_ms: 0 }
    expect(await scheduler.retrieve(cron.id)).toMatchObject({ last_fire })
    expect((await scheduler.call('crons.list', { limit: 1 })).data).toMatchObject([{ id: cron.id, last_fire }])
  })

  it('is found by the key of the table, however many lines there are', async () => {
    const plan = await scheduler.service.app.get(Database).query<{ 'QUERY PLAN': string }>(
      `EXPLAIN SELECT f.* FROM unnest(ARRAY['a']) AS c(id), LATERAL (
           SELECT * FROM scheduler.fires WHERE cron_id = c.id AND fired_at IS NOT NULL ORDER BY slot DESC LIMIT 1) f`,
    )
    expect(plan.map((line) => line['QUERY PLAN']).join('\n')).toMatch(/Index Scan Backward using fires_pkey/)
  })
})

describe('pausing and resuming', () => {
  it('stops it until it is resumed, and what passed meanwhile is one line', async () => {
    const cron = await scheduler.create()
    const paused = await scheduler.call('crons.pause', { id: cron.id })
    expect(paused).toMatchObject({ status: 'paused', pause_reason: 'asked', next_fire_at: null, version: 2 })
    // moved back instead of the clock ahead: the sweep would hardly leave anything to the resumption
    await scheduler.database.query(
      `UPDATE scheduler.crons SET anchor_at = anchor_at - interval '3.5 h', next_slot = next_slot - interval '3.5 h',
         next_due = next_due - interval '3.5 h' WHERE id = $1`,
      [cron.id],
    )
    const resumed = await scheduler.call('crons.resume', { id: cron.id })
    expect(resumed).toMatchObject({ status: 'active', pause_reason: null })
    const first = Date.parse(cron.next_fire_at as string) - 3.5 * hour
    expect(resumed.next_fire_at).toBe(new Date(first + 3 * hour).toISOString())
    expect(await scheduler.fires(cron.id)).toMatchObject([
      {
        status: 'skipped',
        cause: 'paused',
        slots: 3,
        slot: new Date(first).toISOString(),
        last_slot: new Date(first + 2 * hour).toISOString(),
        fired_at: null,
      },
    ])
    expect(scheduler.work.of(cron.id)).toEqual([])
  })

  it('answers a repeated request as the first, and refuses the same again', async () => {
    const { id } = await scheduler.create()
    const keyed = ownerCall({ idempotencyKey: newId('evt') })
    const first = await scheduler.call('crons.pause', { id }, keyed)
    expect(await scheduler.call('crons.pause', { id }, keyed)).toEqual(first)
    await expect(scheduler.call('crons.pause', { id })).rejects.toMatchObject({
      code: 'illegal_transition',
      fields: { state: 'paused', event: 'pause' },
    })
    const again = ownerCall({ idempotencyKey: newId('evt') })
    const resumed = await scheduler.call('crons.resume', { id }, again)
    expect(await scheduler.call('crons.resume', { id }, again)).toEqual(resumed)
    await expect(scheduler.call('crons.resume', { id })).rejects.toMatchObject({ code: 'illegal_transition' })
  })

  it('changes nothing unless it is at the version that is named', async () => {
    const { id } = await scheduler.create()
    for (const change of ['crons.pause', 'crons.delete'] as const) {
      await expect(scheduler.call(change, { id, if_match: 2 })).rejects.toMatchObject({
        code: 'precondition_failed',
        fields: { version: 1 },
      })
    }
    expect(await scheduler.retrieve(id)).toMatchObject({ status: 'active', version: 1 })
    expect(await scheduler.call('crons.pause', { id, if_match: 1 })).toMatchObject({ version: 2 })
    await expect(scheduler.call('crons.resume', { id, if_match: 1 })).rejects.toMatchObject({
      code: 'precondition_failed',
    })
    expect(await scheduler.call('crons.resume', { id, if_match: 2 })).toMatchObject({ version: 3 })
    expect(await scheduler.call('crons.delete', { id, if_match: 3 })).toEqual({ deleted: true })
  })

  it('resumes nothing that has no slot left', async () => {
    const at = new Date(scheduler.clock.now() + hour).toISOString()
    const { id } = await scheduler.create({ schedule: { at } })
    await scheduler.call('crons.pause', { id })
    scheduler.clock.advance(2 * hour)
    await expect(scheduler.call('crons.resume', { id })).rejects.toMatchObject({ code: 'illegal_transition' })
  })

  it('after failures begins to count anew, and nobody needs to look any more', async () => {
    const { id } = await scheduler.create()
    await scheduler.database.query(
      `UPDATE scheduler.crons SET status = 'paused', pause_reason = 'failures', consecutive_failures = 3 WHERE id = $1`,
      [id],
    )
    expect(await scheduler.call('crons.resume', { id })).toMatchObject({ consecutive_failures: 0, version: 2 })
    expect(await outbox(id)).toEqual([{ ref: id, version: 2, concern: null }])
  })
})

const outbox = async (id: string): Promise<unknown[]> => {
  const rows = await scheduler.database.query<{ payload: unknown }>(
    'SELECT payload FROM scheduler.outbox WHERE key LIKE $1 ORDER BY id',
    [`%${id}%`],
  )
  return rows.map(({ payload }) => payload)
}

describe('deleting', () => {
  let cron: Cron
  beforeEach(async () => {
    cron = await scheduler.create()
  })

  it('leaves what became of its slots, and drops what waits for its turn', async () => {
    const at = (n: number): Date => new Date(Date.parse(cron.created_at) - n * hour)
    await writeFire(scheduler, cron, { slot: at(3), status: 'succeeded', fired_at: at(3) })
    const held_until = new Date(scheduler.clock.now() + hour)
    await writeFire(scheduler, cron, { slot: at(2), status: 'running', fired_at: at(2), held_until })
    await writeFire(scheduler, cron, { slot: at(1), status: 'queued' })
    expect(await scheduler.call('crons.delete', { id: cron.id })).toEqual({ deleted: true })
    await expect(scheduler.retrieve(cron.id)).rejects.toMatchObject({ code: 'not_found' })
    await expect(scheduler.call('crons.delete', { id: cron.id })).rejects.toMatchObject({ code: 'not_found' })
    const lines = await scheduler.database.query(
      'SELECT slot, status, cause, ledger FROM scheduler.fires WHERE cron_id = $1 ORDER BY slot',
      [cron.id],
    )
    expect(lines).toMatchObject([
      { status: 'succeeded', cause: null },
      { status: 'running', cause: null },
      { slot: at(1), status: 'canceled', cause: 'cron_ended', ledger: 'omitted' },
    ])
  })

  it('is the end of what somebody had to look at', async () => {
    await scheduler.database.query(
      `UPDATE scheduler.crons SET status = 'paused', pause_reason = 'failures', consecutive_failures = 3 WHERE id = $1`,
      [cron.id],
    )
    await scheduler.call('crons.delete', { id: cron.id })
    expect(await outbox(cron.id)).toEqual([{ ref: cron.id, version: 2, concern: null }])
  })

  it('says nothing to anybody of one that went well', async () => {
    await scheduler.call('crons.delete', { id: cron.id })
    expect(await outbox(cron.id)).toEqual([])
  })
})

describe('the times of a schedule', () => {
  it('are shown as moments and as its zone says them', async () => {
    const cron = await scheduler.create({ schedule: { cron: '0 9 * * *', tz: 'Asia/Kolkata' } })
    const { data } = await scheduler.call('crons.next', { id: cron.id, count: 3 })
    expect(data).toHaveLength(3)
    expect(data[0]?.slot).toBe(cron.next_fire_at)
    for (const { slot, local, due_at } of data) {
      expect(slot).toMatch(/T03:30:00\.000Z$/)
      expect(local).toMatch(/T09:00:00\+05:30$/)
      expect(due_at).toBe(slot)
    }
  })

  it('have the jitter of that schedule', async () => {
    const cron = await scheduler.create({ schedule: { every: 3600 }, jitter_s: 600 })
    const { data } = await scheduler.call('crons.next', { id: cron.id, count: 5 })
    expect(data[0]?.due_at).toBe(cron.next_fire_at)
    const delays = data.map(({ slot, due_at }) => Date.parse(due_at) - Date.parse(slot))
    expect(Math.max(...delays)).toBeLessThanOrEqual(600_000)
    expect(new Set(delays).size).toBeGreaterThan(1)
  })

  it('end with the schedule', async () => {
    const end_at = new Date(scheduler.clock.now() + 2.5 * hour).toISOString()
    const { id } = await scheduler.create({ end_at })
    expect((await scheduler.call('crons.next', { id, count: 10 })).data).toHaveLength(2)
  })

  it('can be looked at before it is armed, and nothing is stored', async () => {
    const before = await list()
    const { data } = await scheduler.call('crons.preview', { schedule: { cron: '@yearly', tz: 'UTC' }, count: 2 })
    expect(data.map(({ slot }) => slot)).toEqual([
      expect.stringMatching(/-01-01T00:00:00\.000Z$/),
      expect.stringMatching(/-01-01T00:00:00\.000Z$/),
    ])
    expect(await list()).toEqual(before)
    const impossible = scheduler.call('crons.preview', { schedule: { cron: '0 0 31 2 *', tz: 'UTC' }, count: 2 })
    await expect(impossible).rejects.toMatchObject({ code: 'schedule_impossible' })
  })
})
