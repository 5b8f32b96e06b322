import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Cron, CronFire } from '#common/contract/cron.schema.js'
import { SvcError } from '#common/kernel/errors.js'
import { waitFor } from '#common/testing/wait-for.js'
import { SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'

const minute = 60_000
const hour = 60 * minute
let scheduler: SchedulerUnderTest

beforeEach(async () => {
  scheduler = await SchedulerUnderTest.start()
})
afterEach(() => scheduler.stop())

const soon = (ms: number): string => new Date(scheduler.clock.now() + ms).toISOString()

/** The clock goes to a schedule's next slot. */
const comeTo = async ({ id }: Pick<Cron, 'id'>): Promise<void> => {
  const { next_fire_at } = await scheduler.retrieve(id)
  scheduler.clock.moveTo(Date.parse(String(next_fire_at)))
}

/** The work of the newest slot ends so, once it has begun; answers what became of the firing. */
const endOf = async (
  { id }: Pick<Cron, 'id'>,
  how: 'succeeded' | 'failed' | 'canceled',
  error?: CronFire['error'],
): Promise<CronFire> => {
  const { slot } = await scheduler.until(id, 'running')
  scheduler.work.end(`${id}:${Date.parse(slot)}`, how, error ?? null)
  return scheduler.until(id, how)
}

describe('a slot that is due', () => {
  it('is fired by its timer, on time and once', async () => {
    const cron = await scheduler.create({ schedule: { at: soon(700) } })
    const fire = await scheduler.until(cron.id, 'running')
    expect(fire).toMatchObject({ slot: cron.next_fire_at, trigger: 'schedule', cause: null, slots: 1 })
    expect(fire.lateness_ms).toBeGreaterThanOrEqual(0)
    expect(fire.lateness_ms).toBeLessThan(100)
    expect(scheduler.work.of(cron.id)).toMatchObject([{ node_id: fire.node_id, message_id: fire.message_id }])
  })

  it('is fired on the authority that made the schedule, with what it does, under a key of its own', async () => {
    const cron = await scheduler.create({ schedule: { every: 60 } })
    await comeTo(cron)
    const { slot } = await scheduler.until(cron.id, 'running')
    const key = `${cron.id}:${Date.parse(slot)}`
    expect(scheduler.work.starts).toEqual([
      { key, by: expect.objectContaining({ kind: 'owner', principal: 'owner', scopes: ['*'] }), action: cron.action },
    ])
  })

  it('moves its schedule to the next one', async () => {
    const cron = await scheduler.create({ schedule: { every: 60 } })
    await comeTo(cron)
    await scheduler.until(cron.id, 'running')
    const { next_fire_at, version, last_fire } = await scheduler.retrieve(cron.id)
    expect(Date.parse(String(next_fire_at))).toBe(Date.parse(String(cron.next_fire_at)) + minute)
    expect(version).toBe(cron.version)
    expect(last_fire).toMatchObject({ slot: cron.next_fire_at, status: 'running' })
  })
})

describe('the end of the work', () => {
  it('is that of the firing, with the fault of its node', async () => {
    const cron = await scheduler.create({ schedule: { every: 60 } })
    await comeTo(cron)
    const error = { code: 'auth', message: 'the key was refused' }
    expect(await endOf(cron, 'failed', error)).toMatchObject({
      cause: 'work_failed',
      error,
      ended_at: expect.any(String),
    })
    expect(await scheduler.retrieve(cron.id)).toMatchObject({ status: 'active', consecutive_failures: 1 })
    await comeTo(cron)
    expect(await endOf(cron, 'canceled')).toMatchObject({ cause: 'work_canceled' })
    expect(await scheduler.retrieve(cron.id)).toMatchObject({ consecutive_failures: 1 })
    await comeTo(cron)
    expect(await endOf(cron, 'succeeded')).toMatchObject({ cause: null, error: null })
    expect(await scheduler.retrieve(cron.id)).toMatchObject({ consecutive_failures: 0 })
  })

  it('is unknown where lifecycle knows nothing of the work any more', async () => {
    const cron = await scheduler.create({ schedule: { every: 60 } })
    await comeTo(cron)
    await scheduler.until(cron.id, 'running')
    scheduler.work.works.clear()
    expect(await scheduler.until(cron.id, 'unknown')).toMatchObject({ cause: 'outcome_unknown' })
    expect(await scheduler.retrieve(cron.id)).toMatchObject({ consecutive_failures: 1 })
  })

  it('is seen of many works that go on at once', async () => {
    const { id, name } = await scheduler.create({ schedule: { every: 3600 } })
    const first = Date.parse(soon(-hour))
    for (let at = 0; at < 250; at += 1) {
      const key = `${id}:${first + at}`
      const work = { key, state: 'succeeded' as const, node_id: null, message_id: '', ended_at: soon(0), error: null }
      scheduler.work.works.set(key, work)
    }
    await scheduler.database.query(
      `INSERT INTO scheduler.fires
         (cron_id, slot, trigger, status, slots, last_slot, due_at, fired_at, noted_at, name, owner_path)
       SELECT $1, at, 'schedule', 'running', 1, at, at, $4, at, $2, '{}'
         FROM generate_series(0, 249) AS n, LATERAL (SELECT $3::timestamptz + n * interval '1 ms' AS at) AS slot`,
      [id, name, new Date(first), new Date(first)],
    )
    await waitFor(async () => {
      const left = await scheduler.database.query("SELECT 1 FROM scheduler.fires WHERE status = 'running'")
      return left.length === 0
    })
    const ended = await scheduler.database.query("SELECT 1 FROM scheduler.fires WHERE status = 'succeeded'")
    expect(ended).toHaveLength(250)
  })

  it('pauses a schedule at its third failure in a row, and a person is told until it goes on', async () => {
    const cron = await scheduler.create({ schedule: { every: 60 } })
    for (const _ of [1, 2, 3]) {
      await comeTo(cron)
      await endOf(cron, 'failed', { code: 'auth', message: 'the key was refused' })
    }
    const paused = await scheduler.retrieve(cron.id)
    expect(paused).toMatchObject({ status: 'paused', pause_reason: 'failures', consecutive_failures: 3 })
    const told = await waitFor(() => scheduler.work.concerns.at(-1))
    expect(told).toMatchObject({ ref: cron.id, version: paused.version, concern: { name: cron.name } })
    expect(told.concern?.message).toContain('the key was refused')

    const resumed = await scheduler.call('crons.resume', { id: cron.id })
    expect(resumed).toMatchObject({ status: 'active', consecutive_failures: 0 })
    await waitFor(() => scheduler.work.concerns.at(-1)?.concern === null)
    expect(scheduler.work.concerns.at(-1)).toEqual({ ref: cron.id, version: resumed.version, concern: null })
  })

  it('completes a schedule that has no slot left, or fails it', async () => {
    const [good, bad] = await Promise.all([1, 2].map(() => scheduler.create({ schedule: { at: soon(hour) } })))
    scheduler.clock.advance(hour)
    await Promise.all([endOf(good as Cron, 'succeeded'), endOf(bad as Cron, 'failed')])
    expect(await scheduler.retrieve((good as Cron).id)).toMatchObject({ status: 'completed', next_fire_at: null })
    expect(await scheduler.retrieve((bad as Cron).id)).toMatchObject({ status: 'failed', consecutive_failures: 1 })
  })

  it('deletes a schedule at its first success, where it was made so', async () => {
    const cron = await scheduler.create({ schedule: { every: 60 }, delete_after_run: true })
    await comeTo(cron)
    await endOf(cron, 'failed')
    await comeTo(cron)
    const { slot } = await scheduler.until(cron.id, 'running')
    scheduler.work.end(`${cron.id}:${Date.parse(slot)}`, 'succeeded')
    await waitFor(() =>
      scheduler.retrieve(cron.id).then(
        () => false,
        (error: SvcError) => error.code === 'not_found',
      ),
    )
    const rows = await scheduler.database.query('SELECT status FROM scheduler.fires WHERE cron_id = $1 ORDER BY slot', [
      cron.id,
    ])
    expect(rows).toEqual([{ status: 'failed' }, { status: 'succeeded' }])
  })
})

describe('a start', () => {
  it('that is refused has failed, with the code that refused it, and is not tried again', async () => {
    scheduler.work.onStart = () => {
      throw new SvcError('scope_missing', undefined, { scope: 'svc:act' })
    }
    const cron = await scheduler.create({ schedule: { every: 60 } })
    await comeTo(cron)
    const fire = await scheduler.until(cron.id, 'failed')
    expect(fire).toMatchObject({ cause: 'refused', error: { code: 'scope_missing' } })
    expect(scheduler.work.starts).toHaveLength(1)
  })

  it('that nobody answers waits in the ledger, and is made when somebody is there again', async () => {
    const cron = await scheduler.create({ schedule: { every: 600 } })
    await scheduler.work.leave()
    await comeTo(cron)
    await waitFor(async () => (await ledger()).some((entry) => entry.cron_id === cron.id && entry.state === 'waiting'))
    expect(await scheduler.until(cron.id, 'starting')).toMatchObject({ error: { code: 'service_unavailable' } })
    await scheduler.work.join()
    scheduler.clock.advance(2 * minute)
    expect(await scheduler.until(cron.id, 'running')).toMatchObject({ cause: 'late', error: null })
    expect(scheduler.work.of(cron.id)).toHaveLength(1)
    expect((await ledger()).map(({ state }) => state)).toEqual(['late'])
  })

  it('is given up when it is too old for its window, and lifecycle says that it heard of none', async () => {
    scheduler.work.onStart = () => {
      throw new SvcError('service_unavailable', 'not now')
    }
    const cron = await scheduler.create({ schedule: { at: soon(hour) }, catchup_window_s: 120 })
    scheduler.clock.advance(hour)
    await waitFor(() => scheduler.work.starts.length > 0)
    await scheduler.until(cron.id, 'starting')
    scheduler.clock.advance(3 * minute)
    expect(await scheduler.until(cron.id, 'missed')).toMatchObject({ cause: 'window', fired_at: null })
    expect(await scheduler.retrieve(cron.id)).toMatchObject({ status: 'failed', consecutive_failures: 0 })
  })
})

describe('a service that stops', () => {
  it('waits for starts under way, and leaves nothing for others to find out', async () => {
    let answer: () => void = () => undefined
    scheduler.work.onStart = () => new Promise((resolve) => (answer = resolve))
    const cron = await scheduler.create({ schedule: { every: 60 } })
    await comeTo(cron)
    await waitFor(() => scheduler.work.starts.length === 1)
    const stopped = scheduler.stopService()
    answer()
    await stopped
    const [row] = await scheduler.database.query('SELECT status, held_until FROM scheduler.fires')
    expect(row).toEqual({ status: 'running', held_until: null })
  })
})

const ledger = async () => (await scheduler.call('scheduler.ledger.read', { limit: 50, before: null })).entries
