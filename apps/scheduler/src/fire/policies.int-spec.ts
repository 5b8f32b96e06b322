import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Cron, CronFire } from '#common/contract/cron.schema.js'
import { waitFor } from '#common/testing/wait-for.js'
import { ownerCall, SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'

const minute = 60_000
const hour = 60 * minute
let scheduler: SchedulerUnderTest

beforeEach(async () => {
  scheduler = await SchedulerUnderTest.start()
})
afterEach(() => scheduler.stop())

type Line = Pick<CronFire, 'status' | 'cause' | 'slots'>

/** Lines from the oldest on. */
const lines = async ({ id }: Cron): Promise<Line[]> =>
  (await scheduler.fires(id)).reverse().map(({ status, cause, slots }) => ({ status, cause, slots }))

const whenLines = (cron: Cron, wanted: readonly (readonly [string, string | null, number])[]): Promise<Line[]> =>
  waitFor(
    async () => {
      const found = await lines(cron)
      const same = JSON.stringify(found.map(Object.values)) === JSON.stringify(wanted)
      return same ? found : Promise.reject(new Error(JSON.stringify(found)))
    },
    { what: `lines ${JSON.stringify(wanted)}` },
  )

/** Nobody is there for so long. */
const outage = async (ms: number): Promise<void> => {
  await scheduler.stopService()
  scheduler.clock.advance(ms)
  await scheduler.another()
}

const endAll = ({ id }: Cron): void => {
  for (const { key, state } of scheduler.work.of(id)) if (state === 'running') scheduler.work.end(key, 'succeeded')
}

describe('slots that nobody was there for', () => {
  it('are left out with `skip`, in one line', async () => {
    const cron = await scheduler.create({ schedule: { every: 600 }, missed: 'skip' })
    await outage(65 * minute)
    await whenLines(cron, [['missed', 'policy', 6]])
    expect(await scheduler.retrieve(cron.id)).toMatchObject({ status: 'active' })
    expect(scheduler.work.starts).toHaveLength(0)
  })

  it('are made up for by the newest with `once`, and those before its window are lost', async () => {
    const cron = await scheduler.create({ schedule: { every: 600 }, missed: 'once', catchup_window_s: 1800 })
    await outage(65 * minute)
    await whenLines(cron, [
      ['missed', 'window', 3],
      ['coalesced', 'coalesced', 2],
      ['running', 'late', 1],
    ])
    const [newest] = await scheduler.fires(cron.id)
    expect(newest?.lateness_ms).toBeGreaterThan(4 * minute)
    expect(scheduler.work.of(cron.id)).toHaveLength(1)
  })

  it('are made up for one after another with `all`', async () => {
    const cron = await scheduler.create({ schedule: { every: 600 }, missed: 'all' })
    await outage(35 * minute)
    await whenLines(cron, [
      ['running', 'late', 1],
      ['queued', 'late', 1],
      ['queued', 'late', 1],
    ])
    // one on time comes meanwhile, and waits behind them
    scheduler.clock.moveTo(Date.parse((await scheduler.retrieve(cron.id)).next_fire_at as string))
    await waitFor(async () => (await lines(cron)).length === 4)
    for (const begun of [2, 3, 4]) {
      endAll(cron)
      await waitFor(() => scheduler.work.of(cron.id).length === begun)
    }
    endAll(cron)
    await whenLines(cron, [
      ['succeeded', 'late', 1],
      ['succeeded', 'late', 1],
      ['succeeded', 'late', 1],
      ['succeeded', null, 1],
    ])
    const slots = scheduler.work.starts.map(({ key }) => Number(key.split(':')[1]))
    expect(slots).toEqual([...slots].sort((a, b) => a - b))
  })

  it('of many schedules are begun a few a second', async () => {
    await Promise.all(Array.from({ length: 50 }, () => scheduler.create({ schedule: { every: 3600 } })))
    await outage(90 * minute)
    await waitFor(() => scheduler.work.works.size >= 20)
    expect(scheduler.work.works.size).toBeLessThanOrEqual(40)
    await waitFor(() => scheduler.work.works.size === 50)
  })
})

describe('a schedule whose zone this machine does not know any more', () => {
  const inZone = (cron: Cron, tz: string): Promise<unknown> =>
    scheduler.database.query('UPDATE scheduler.crons SET schedule = $2 WHERE id = $1', [
      cron.id,
      JSON.stringify({ cron: '* * * * *', tz }),
    ])

  // It was looked at again and again, and only the log of a process said so.
  it('is paused and needs a person, and holds up no other', async () => {
    const [lost, other] = await Promise.all(
      [0, 1].map(() => scheduler.create({ schedule: { cron: '* * * * *', tz: 'Europe/Berlin' }, missed: 'all' })),
    )
    await inZone(lost as Cron, 'Europe/Atlantis')
    scheduler.clock.moveTo(Date.parse(String((other as Cron).next_fire_at)))
    await scheduler.until((other as Cron).id, 'running')
    const { id } = lost as Cron
    await waitFor(() =>
      scheduler.work.concerns.find(
        ({ ref, concern }) =>
          ref === id && concern?.message.endsWith('paused: There is no time zone "Europe/Atlantis".'),
      ),
    )
    expect(await scheduler.retrieve(id)).toMatchObject({ status: 'paused', pause_reason: 'failures' })
    expect(await lines(lost as Cron)).toEqual([])
  })

  it('goes on when it is known again, and has a line for each slot', async () => {
    const cron = await scheduler.create({ schedule: { cron: '* * * * *', tz: 'Europe/Berlin' } })
    await inZone(cron, 'Europe/Atlantis')
    scheduler.clock.moveTo(Date.parse(String(cron.next_fire_at)))
    await waitFor(async () => (await scheduler.retrieve(cron.id)).status === 'paused')
    await inZone(cron, 'Europe/Berlin')
    await scheduler.call('crons.resume', { id: cron.id })
    scheduler.clock.advance(6 * minute)
    const found = await waitFor(async () => {
      const all = await scheduler.fires(cron.id)
      return all.length > 0 && all
    })
    expect(found.at(-1)).toMatchObject({ slot: cron.next_fire_at })
    await waitFor(() => scheduler.work.concerns.at(-1)?.concern === null)
  })
})

describe('a slot while the work of the one before goes on', () => {
  const twoSlots = async (cron: Cron): Promise<void> => {
    scheduler.clock.moveTo(Date.parse(String(cron.next_fire_at)))
    await scheduler.until(cron.id, 'running')
    scheduler.clock.advance(minute)
  }

  it('is left out with `skip`, and the next ones with it in one line', async () => {
    const cron = await scheduler.create({ schedule: { every: 60 }, overlap: 'skip' })
    await twoSlots(cron)
    await whenLines(cron, [
      ['running', null, 1],
      ['skipped', 'overlap', 1],
    ])
    scheduler.clock.advance(minute)
    await whenLines(cron, [
      ['running', null, 1],
      ['skipped', 'overlap', 2],
    ])
  })

  it('starts another with `allow`', async () => {
    const cron = await scheduler.create({ schedule: { every: 60 }, overlap: 'allow' })
    await twoSlots(cron)
    await whenLines(cron, [
      ['running', null, 1],
      ['running', null, 1],
    ])
  })

  it('waits with `queue`, and begins at the end of the one before', async () => {
    const cron = await scheduler.create({ schedule: { every: 60 }, overlap: 'queue' })
    await twoSlots(cron)
    await whenLines(cron, [
      ['running', null, 1],
      ['queued', null, 1],
    ])
    endAll(cron)
    await whenLines(cron, [
      ['succeeded', null, 1],
      ['running', null, 1],
    ])
  })

  it('and those that wait are left out when the schedule gives up', async () => {
    const cron = await scheduler.create({ schedule: { every: 60 }, overlap: 'queue', max_failures: 1 })
    await twoSlots(cron)
    await scheduler.until(cron.id, 'queued')
    for (const { key } of scheduler.work.of(cron.id)) scheduler.work.end(key, 'failed')
    await whenLines(cron, [
      ['failed', 'work_failed', 1],
      ['skipped', 'paused', 1],
    ])
    expect(await scheduler.retrieve(cron.id)).toMatchObject({ status: 'paused', pause_reason: 'failures' })
  })
})

describe('a paused schedule', () => {
  it('passes its slots in one line that grows, and goes on from now when it is resumed', async () => {
    const cron = await scheduler.create({ schedule: { every: 60 } })
    await scheduler.call('crons.pause', { id: cron.id })
    scheduler.clock.moveTo(Date.parse(String(cron.next_fire_at)) + 1000)
    await whenLines(cron, [['skipped', 'paused', 1]])
    scheduler.clock.advance(10 * minute)
    await whenLines(cron, [['skipped', 'paused', 11]])
    await scheduler.call('crons.resume', { id: cron.id })
    scheduler.clock.advance(minute)
    await whenLines(cron, [
      ['skipped', 'paused', 11],
      ['running', null, 1],
    ])
  })

  it('has failed when its last slot has passed, and none was ever fired', async () => {
    const cron = await scheduler.create({ schedule: { at: new Date(scheduler.clock.now() + hour).toISOString() } })
    await scheduler.call('crons.pause', { id: cron.id })
    scheduler.clock.advance(hour + minute)
    await whenLines(cron, [['skipped', 'paused', 1]])
    expect(await scheduler.retrieve(cron.id)).toMatchObject({ status: 'failed', pause_reason: null, last_fire: null })
  })
})

describe('a firing by hand', () => {
  const run = (cron: Cron, key?: string): Promise<CronFire> =>
    scheduler.call('crons.run', { id: cron.id }, ownerWith(key)) as Promise<CronFire>

  it('is one more, and leaves the schedule where it is', async () => {
    const cron = await scheduler.create({ schedule: { every: 3600 } })
    const fire = await run(cron)
    expect(fire).toMatchObject({ trigger: 'manual', status: 'starting', slot: fire.due_at })
    await scheduler.until(cron.id, 'running')
    expect(await scheduler.retrieve(cron.id)).toMatchObject({
      next_fire_at: cron.next_fire_at,
      version: cron.version,
      last_fire: { slot: fire.slot, trigger: 'manual' },
    })
  })

  it('is refused while the work of another goes on, which is named', async () => {
    const cron = await scheduler.create({ schedule: { every: 3600 } })
    await run(cron)
    const { slot, node_id } = await scheduler.until(cron.id, 'running')
    await expect(run(cron)).rejects.toMatchObject({ code: 'already_running', fields: { slot, node_id } })
  })

  it('waits for its turn with `queue`, and starts another with `allow`', async () => {
    const [queue, allow] = await Promise.all([
      scheduler.create({ overlap: 'queue' }),
      scheduler.create({ overlap: 'allow' }),
    ])
    await Promise.all([run(queue), run(allow)])
    expect(await run(queue)).toMatchObject({ status: 'queued' })
    expect(await run(allow)).toMatchObject({ status: 'starting' })
    await waitFor(() => scheduler.work.of(allow.id).length === 2 && scheduler.work.of(queue.id).length === 1)
    endAll(queue)
    await waitFor(() => scheduler.work.of(queue.id).length === 2)
  })

  it('is the same firing when its request is repeated', async () => {
    const cron = await scheduler.create({ overlap: 'allow' })
    const [first, second] = [await run(cron, 'once'), await run(cron, 'once')]
    expect(second).toEqual(first)
    await scheduler.until(cron.id, 'running')
    expect(scheduler.work.of(cron.id)).toHaveLength(1)
  })

  it('clears what a person was told of when it succeeds, and leaves the schedule paused', async () => {
    const cron = await scheduler.create({ schedule: { every: 60 }, max_failures: 1 })
    await run(cron)
    await scheduler.until(cron.id, 'running')
    for (const { key } of scheduler.work.of(cron.id)) scheduler.work.end(key, 'failed')
    await waitFor(() => scheduler.work.concerns.at(-1)?.concern !== null && scheduler.work.concerns.length > 0)
    await scheduler.until(cron.id, 'failed')
    await run(cron)
    await scheduler.until(cron.id, 'running')
    endAll(cron)
    await waitFor(() => scheduler.work.concerns.at(-1)?.concern === null)
    expect(await scheduler.retrieve(cron.id)).toMatchObject({ status: 'paused', consecutive_failures: 0 })
  })
})

const ownerWith = (idempotencyKey?: string) => ownerCall(idempotencyKey === undefined ? {} : { idempotencyKey })
