import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import type { CronSchedule } from '#common/contract/cron.schema.js'
import { isSvcError } from '#common/kernel/errors.js'
import { jitterOf } from './jitter.js'
import { requireJitter, requireSchedule } from './schedule.check.js'
import type { Bounds } from './schedule.js'

const now = Date.parse('2026-06-01T00:00:00.000Z')
const hour = 3_600_000
const daily = (cron: string): CronSchedule => ({ cron, tz: 'UTC' })

const check = (schedule: CronSchedule, bounds: Partial<Bounds> = {}) =>
  requireSchedule(schedule, { anchorAt: now, startAt: null, endAt: null, ...bounds }, now)
const refusal = (act: () => unknown): { code: string; fields: Record<string, unknown> } => {
  try {
    act()
  } catch (error) {
    if (isSvcError(error)) return { code: error.code, fields: error.fields }
    throw error
  }
  return { code: 'taken', fields: {} }
}

describe('a schedule', () => {
  it.each<[string, CronSchedule, Partial<Bounds>]>([
    ['taken', daily('0 9 * * MON-FRI'), {}],
    ['taken', daily('0 0 29 2 *'), {}],
    ['taken', daily('0 0 29 2 1'), {}],
    ['taken', daily('0 0 31 2 1'), {}],
    ['taken', { cron: '@daily', tz: 'europe/BERLIN' }, {}],
    ['taken', { every: 60 }, {}],
    ['schedule_impossible', daily('0 0 31 2 *'), {}],
    ['schedule_impossible', daily('* * 30,31 2 *'), {}],
    ['schedule_impossible', daily('0 0 31 4,6,9,11 *'), {}],
    ['schedule_impossible', daily('0 9 * * *'), { startAt: now + hour, endAt: now + 2 * hour }],
    ['schedule_impossible', daily('0 9 * * *'), { startAt: now + 2 * hour, endAt: now + hour }],
    ['schedule_impossible', daily('* * * * *'), { endAt: now }],
    ['schedule_impossible', { every: 7200 }, { endAt: now + hour }],
    ['schedule_impossible', { at: '2026-06-02T00:00:00.000Z' }, { endAt: now + hour }],
    ['schedule_too_frequent', { every: 59 }, {}],
    ['schedule_past', { at: '2026-06-01T00:00:00.000Z' }, {}],
    ['schedule_past', { at: '2026-05-31T00:00:00.000Z' }, {}],
    ['timezone_unknown', { cron: '@daily', tz: 'Europe/Atlantis' }, {}],
    ['timezone_unknown', { cron: '@daily', tz: '+02:00' }, {}],
    ['timezone_unknown', { cron: '@daily', tz: 'Europe/Berlin ' }, {}],
    ['validation_failed', daily('*/10 * * * * *'), {}],
    ['validation_failed', daily('0 9 * *'), {}],
    ['validation_failed', daily('@reboot'), {}],
    ['validation_failed', daily('@daily @daily'), {}],
    ['validation_failed', daily('0 0 ? * *'), {}],
    ['validation_failed', daily('0 0 L * *'), {}],
    ['validation_failed', daily('0 0 15W * *'), {}],
    ['validation_failed', daily('0 0 * * 1#2'), {}],
    ['validation_failed', daily('0 0 1 * +1'), {}],
    ['validation_failed', daily('*/0 * * * *'), {}],
    ['validation_failed', daily('*/99 * * * *'), {}],
    ['validation_failed', daily('99-1 * * * *'), {}],
    ['validation_failed', daily('0 22-2 * * *'), {}],
    ['validation_failed', daily('5/15 * * * *'), {}],
    ['validation_failed', daily('60 * * * *'), {}],
    ['validation_failed', daily('0 0 0 * *'), {}],
    ['validation_failed', daily('0 0 * 13 *'), {}],
    ['validation_failed', daily('0 0 * * MONDAY'), {}],
    ['validation_failed', daily('1,,2 * * * *'), {}],
    ['validation_failed', daily('-1 * * * *'), {}],
    ['validation_failed', daily('１ * * * *'), {}],
    ['validation_failed', daily(`${'9'.repeat(190)} * * * *`), {}],
  ])('is %s: %j %j', (code, schedule, bounds) => expect(refusal(() => check(schedule, bounds)).code).toBe(code))

  it('is told what is wrong with it', () => {
    expect(refusal(() => check({ every: 10 })).fields).toEqual({ minimum_s: 60 })
    expect(refusal(() => check({ at: '2026-05-31T00:00:00.000Z' })).fields).toEqual({
      now: '2026-06-01T00:00:00.000Z',
      at: '2026-05-31T00:00:00.000Z',
    })
    expect(refusal(() => check(daily('61 * * * *'))).fields).toEqual({
      errors: [{ pointer: '/schedule/cron', message: 'minute 61 is not between 0 and 59' }],
    })
  })

  it('of any text is taken or refused with a code, and never holds anybody up', () => {
    const field = fc.oneof(
      fc.constantFrom('*', '*/0', '99-1', '31', '2', '*/7', '1-5/2', 'L', '?', '1#2', 'mon', '@daily', '', '1e9', '+1'),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.array(fc.nat(70), { maxLength: 80 }).map((values) => values.join(',')),
    )
    const text = fc.oneof(
      fc.array(field, { minLength: 4, maxLength: 7 }).map((fields) => fields.join(' ')),
      fc.string({ unit: 'binary', maxLength: 200 }),
    )
    const codes = ['taken', 'validation_failed', 'schedule_impossible', 'timezone_unknown']
    const zone = fc.oneof(fc.constantFrom('UTC', 'Europe/Berlin'), fc.string({ unit: 'binary', maxLength: 20 }))
    fc.assert(
      fc.property(text, zone, (cron, tz) => expect(codes).toContain(refusal(() => check({ cron, tz })).code)),
      { numRuns: 1000, seed: 5 },
    )
  })
})

describe('jitter', () => {
  it('is less than the time to the next slot', () => {
    const slots = check(daily('*/5 * * * *'))
    expect(refusal(() => requireJitter(299, slots)).code).toBe('taken')
    expect(refusal(() => requireJitter(300, slots))).toEqual({
      code: 'validation_failed',
      fields: { errors: [{ pointer: '/jitter_s', message: 'must be less than 300, the seconds between two slots' }] },
    })
  })

  it('is spread evenly, and the same for the same slot', () => {
    const buckets = new Array<number>(10).fill(0)
    for (let slot = 0; slot < 10_000; slot++) {
      const jitter = jitterOf('cron_a', slot * 60_000, 60)
      expect(jitter).toBe(jitterOf('cron_a', slot * 60_000, 60))
      expect(jitter >= 0 && jitter <= 60_000).toBe(true)
      const bucket = Math.min(9, Math.floor(jitter / 6000))
      buckets[bucket] = (buckets[bucket] ?? 0) + 1
    }
    for (const size of buckets) expect(Math.abs(size - 1000)).toBeLessThan(150)
    expect(jitterOf('cron_a', now, 60)).not.toBe(jitterOf('cron_b', now, 60))
    expect(jitterOf('cron_a', now, 0)).toBe(0)
  })
})
