import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import type { Cron } from '#common/contract/cron.schema.js'
import { systemClock } from '#common/kernel/clock.js'
import { RedisDoor } from '#common/testing/redis-door.js'
import { waitFor } from '#common/testing/wait-for.js'
import { PlayedWork } from '../../../../test/support/played-work.js'
import { SchedulerUnderTest } from '../../../../test/support/scheduler-service.js'
import { writeFire } from './fire.fixture.js'

let scheduler: SchedulerUnderTest
let redis: Redis
let door: RedisDoor

beforeEach(async () => {
  scheduler = await SchedulerUnderTest.start({ running: false })
  redis = new Redis(scheduler.redis)
  door = await RedisDoor.open(scheduler.redis)
})
afterEach(async () => {
  await scheduler.stop()
  await door.close()
  redis.disconnect()
})

const soon = (ms: number): string => new Date(scheduler.clock.now() + ms).toISOString()
const at = (ms: number): Promise<Cron> => scheduler.create({ schedule: { at: soon(ms) } })
const timersOf = async ({ id }: Cron): Promise<number> => (await redis.keys(`svc:*:slots:${id}-*`)).length
const whenArmed = (cron: Cron): Promise<true> =>
  waitFor(async () => (await timersOf(cron)) === 1, { what: 'a timer' }) as Promise<true>

describe('timers', () => {
  it('are set when a schedule is made, and gone when it is', async () => {
    await scheduler.another()
    const cron = await at(60_000)
    await whenArmed(cron)
    await scheduler.call('crons.delete', { id: cron.id })
    await waitFor(async () => (await timersOf(cron)) === 0)
  })

  it('that Redis loses are set anew, and nothing is lost', async () => {
    await scheduler.another()
    const [near, far] = [await at(1500), await at(60_000)]
    await Promise.all([whenArmed(near), whenArmed(far)])
    await redis.flushdb()
    await whenArmed(far)
    expect((await scheduler.until(near.id, 'running')).lateness_ms).toBeLessThan(2000)
    expect(scheduler.work.of(near.id)).toHaveLength(1)
  })

  it('that could not be set while Redis was away are set when it is back', async () => {
    await scheduler.another({ REDIS_URL: door.url })
    await door.cut()
    const cron = await at(60_000)
    await door.restore()
    await whenArmed(cron)
  })

  it('are set for all schedules at the start', async () => {
    await scheduler.another()
    const cron = await at(60_000)
    await scheduler.stopService()
    await redis.flushdb()
    await scheduler.another()
    await whenArmed(cron)
  })

  it('are set and counted when somebody asks for it', async () => {
    await scheduler.another()
    const crons = await Promise.all([at(60_000), at(61_000), at(62_000)])
    await Promise.all(crons.map(whenArmed))
    expect(await scheduler.call('crons.poke', {})).toEqual({ armed: 3, due: 0 })
  })
})

describe('without Redis', () => {
  it.each(['cut', 'hang'] as const)('everything is fired, about a second late at most: %s', async (how) => {
    await scheduler.another({ REDIS_URL: door.url })
    await whenArmed(await at(60_000))
    await door[how]()
    const cron = await at(1000)
    const fire = await scheduler.until(cron.id, 'running')
    expect(fire.lateness_ms).toBeLessThan(3000)
    expect(fire.cause).toBeNull()
  })

  it('a schedule is made and changed as fast as ever', async () => {
    await scheduler.another({ REDIS_URL: door.url })
    await whenArmed(await at(60_000))
    await door.hang()
    const begun = performance.now()
    const { id } = await at(60_000)
    await scheduler.call('crons.pause', { id })
    await scheduler.call('crons.resume', { id })
    expect(performance.now() - begun).toBeLessThan(2000)
  })

  it('the service starts', async () => {
    await door.cut()
    await scheduler.another({ REDIS_URL: door.url })
    const cron = await at(500)
    await scheduler.until(cron.id, 'running')
    const said = scheduler.logged.filter((line) => line.includes('Redis is away'))
    expect(said).toHaveLength(1)
  })
})

describe('two processes of the service', () => {
  it('never fire one slot twice', async () => {
    await scheduler.another()
    await scheduler.another()
    const moment = soon(2500)
    const crons = await Promise.all(Array.from({ length: 80 }, () => scheduler.create({ schedule: { at: moment } })))
    await waitFor(() => scheduler.work.works.size === crons.length)
    await Promise.all(crons.map(({ id }) => scheduler.until(id, 'running')))
    const keys = scheduler.work.starts.map(({ key }) => key)
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys).toHaveLength(crons.length)
  })

  it('share what is left when one of them goes', async () => {
    const first = await scheduler.another()
    await scheduler.another()
    const cron = await at(1000)
    await scheduler.stopService(first)
    await scheduler.until(cron.id, 'running')
  })
})

describe('a process that died', () => {
  const abandoned = async (more: Parameters<typeof writeFire>[2]): Promise<Cron> => {
    await scheduler.another()
    const cron = await scheduler.create({ schedule: { every: 3600 }, overlap: 'queue' })
    await writeFire(scheduler, cron, { status: 'starting', attempts: 1, ...more })
    return cron
  }
  const slot = new Date(Math.floor(systemClock.now() / 1000) * 1000)

  it('after its decision and before its start leaves the start to another, when its lease is over', async () => {
    const cron = await abandoned({ slot, held_until: new Date(slot.getTime() + 1) })
    await scheduler.until(cron.id, 'running')
    expect(scheduler.work.starts.map(({ key }) => key)).toEqual([`${cron.id}:${slot.getTime()}`])
  })

  it('and whose lease is not over is left alone', async () => {
    const cron = await abandoned({ slot, held_until: new Date(scheduler.clock.now() + 60_000) })
    const other = await at(1500)
    await scheduler.until(other.id, 'running')
    expect(scheduler.work.of(cron.id)).toHaveLength(0)
    scheduler.clock.advance(61_000)
    await scheduler.until(cron.id, 'running')
  })

  // Its clock was hours ahead before it was put right: nobody tried again for as long.
  it('and whose clock was far ahead has its firing taken all the same', async () => {
    const cron = await abandoned({ slot, held_until: new Date(scheduler.clock.now() + 3 * 3_600_000) })
    await waitFor(async () => {
      scheduler.clock.advance(1000)
      return (await scheduler.fires(cron.id))[0]?.status === 'running'
    })
    expect(scheduler.clock.now()).toBeLessThan(slot.getTime() + 3_600_000)
  })

  it('after its start and before it could note that has its work found again, once', async () => {
    await scheduler.another()
    const cron = await scheduler.create({ schedule: { every: 3600 } })
    const known = new PlayedWork(scheduler.nats).node()
    const key = `${cron.id}:${slot.getTime()}`
    const work = { key, state: 'running' as const, node_id: known, message_id: 'msg_1', ended_at: null, error: null }
    scheduler.work.works.set(key, work)
    await writeFire(scheduler, cron, { slot, status: 'starting', attempts: 1, held_until: slot })
    expect(await scheduler.until(cron.id, 'running')).toMatchObject({ message_id: 'msg_1' })
    expect(scheduler.work.works.size).toBe(1)
  })

  // Decided about, and then the machine was off over a weekend: it was begun on Monday, whatever its window.
  it.each([0, 1])(
    'for longer than its window leaves a slot that is begun no more, after %s tries',
    async (attempts) => {
      const old = new Date(slot.getTime() - 2 * 86_400_000)
      const cron = await abandoned({ slot: old, held_until: old, attempts })
      expect(await scheduler.until(cron.id, 'missed')).toMatchObject({ cause: 'window', fired_at: null })
      expect(scheduler.work.starts).toHaveLength(0)
    },
  )

  it('for longer than its window has its work found again, where it was begun', async () => {
    await scheduler.another()
    const old = new Date(slot.getTime() - 2 * 86_400_000)
    const cron = await scheduler.create({ schedule: { every: 3600 } })
    const key = `${cron.id}:${old.getTime()}`
    const node_id = scheduler.work.node()
    const work = { key, state: 'running' as const, node_id, message_id: 'msg_1', ended_at: null, error: null }
    scheduler.work.works.set(key, work)
    await writeFire(scheduler, cron, { slot: old, status: 'starting', attempts: 1, held_until: old })
    expect(await scheduler.until(cron.id, 'running')).toMatchObject({ node_id })
    expect(scheduler.work.starts).toHaveLength(0)
  })

  const orphaned = async (more: Partial<Parameters<typeof writeFire>[2]>): Promise<unknown> => {
    const cron = await abandoned({ slot, held_until: new Date(scheduler.clock.now() + 60_000), ...more })
    await scheduler.call('crons.delete', { id: cron.id })
    scheduler.clock.advance(61_000)
    const row = await waitFor(async () => {
      const [found] = await scheduler.database.query(
        'SELECT status, cause, ledger FROM scheduler.fires WHERE ended_at IS NOT NULL',
      )
      return found
    })
    expect(scheduler.work.starts).toHaveLength(0)
    return row
  }

  it('without a word, and whose schedule was deleted meanwhile, leaves what nobody can know any more', async () => {
    expect(await orphaned({})).toEqual({ status: 'unknown', cause: 'outcome_unknown', ledger: 'unknown' })
  })

  it('between two tries that were not heard leaves a line that says so, where its schedule was deleted', async () => {
    const error = { code: 'service_unavailable', message: 'nobody serves this command' }
    const line = await orphaned({ error: JSON.stringify(error) as never, ledger: 'waiting' })
    expect(line).toEqual({ status: 'canceled', cause: 'cron_ended', ledger: 'omitted' })
  })
})
