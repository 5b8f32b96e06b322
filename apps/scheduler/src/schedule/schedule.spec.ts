import { describe, expect, it } from '@jest/globals'
import type { CronSchedule } from '#common/contract/cron.schema.js'
import { localTime } from './local.time.js'
import { slotsOf } from './schedule.js'

const at = (time: string): number => Date.parse(time)

/** The slots after a moment, as its zone's clock shows them. */
const timesOf = (cron: string, tz: string, from: string, count: number): string[] => {
  const slots = slotsOf({ cron, tz }, { anchorAt: at(from), startAt: null, endAt: null })
  const times: string[] = []
  for (let slot = slots.next(at(from)); slot !== null && times.length < count; slot = slots.next(slot))
    times.push(localTime(slot, tz))
  return times
}

describe('a clock that is put forward', () => {
  it.each<[string, string, string, string[]]>([
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', ['2026-03-29T03:30:00+02:00', '2026-03-30T02:30:00+02:00']],
    [
      '0 2,3 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00:00Z',
      ['2026-03-29T03:00:00+02:00', '2026-03-30T02:00:00+02:00'],
    ],
    [
      '*/30 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00:00Z',
      ['2026-03-29T03:00:00+02:00', '2026-03-29T03:30:00+02:00'],
    ],
    [
      '15 2 * * *',
      'America/New_York',
      '2026-03-07T12:00:00Z',
      ['2026-03-08T03:15:00-04:00', '2026-03-09T02:15:00-04:00'],
    ],
    [
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T12:00:00Z',
      ['2026-10-04T02:45:00+11:00', '2026-10-05T02:15:00+11:00'],
    ],
    [
      '30 2 * * *',
      'Africa/Casablanca',
      '2026-03-21T12:00:00Z',
      ['2026-03-22T03:30:00+01:00', '2026-03-23T02:30:00+01:00'],
    ],
    [
      '0 0 * * *',
      'America/Sao_Paulo',
      '2018-11-03T12:00:00Z',
      ['2018-11-04T01:00:00-02:00', '2018-11-05T00:00:00-02:00'],
    ],
    ['0 0 * * *', 'Asia/Beirut', '2026-03-28T12:00:00Z', ['2026-03-29T01:00:00+03:00', '2026-03-30T00:00:00+03:00']],
    ['0 9 * * *', 'Pacific/Apia', '2011-12-29T00:00:00Z', ['2011-12-29T09:00:00-10:00', '2011-12-31T09:00:00+14:00']],
    ['30 * * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', ['2026-03-29T01:30:00+01:00', '2026-03-29T03:30:00+02:00']],
  ])('%s in %s after %s', (cron, tz, from, times) => expect(timesOf(cron, tz, from, times.length)).toEqual(times))
})

describe('a clock that is put back', () => {
  it.each<[string, string, string, string[]]>([
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', ['2026-10-25T02:30:00+02:00', '2026-10-26T02:30:00+01:00']],
    [
      '0 */2 * * *',
      'Europe/Berlin',
      '2026-10-24T22:00:00Z',
      ['2026-10-25T02:00:00+02:00', '2026-10-25T04:00:00+01:00'],
    ],
    [
      '30 1 * * *',
      'America/New_York',
      '2026-10-31T12:00:00Z',
      ['2026-11-01T01:30:00-04:00', '2026-11-02T01:30:00-05:00'],
    ],
    [
      '45 1 * * *',
      'Australia/Lord_Howe',
      '2026-04-04T00:00:00Z',
      ['2026-04-05T01:45:00+11:00', '2026-04-06T01:45:00+10:30'],
    ],
    [
      '30 2 * * *',
      'Africa/Casablanca',
      '2026-02-14T12:00:00Z',
      ['2026-02-15T02:30:00+01:00', '2026-02-16T02:30:00+00:00'],
    ],
    ['0 0 * * *', 'America/Havana', '2026-10-31T12:00:00Z', ['2026-11-01T00:00:00-04:00', '2026-11-02T00:00:00-05:00']],
    [
      '*/30 * * * *',
      'Europe/Berlin',
      '2026-10-25T00:00:00Z',
      [
        '2026-10-25T02:30:00+02:00',
        '2026-10-25T02:00:00+01:00',
        '2026-10-25T02:30:00+01:00',
        '2026-10-25T03:00:00+01:00',
      ],
    ],
  ])('%s in %s after %s', (cron, tz, from, times) => expect(timesOf(cron, tz, from, times.length)).toEqual(times))
})

describe('the calendar', () => {
  it.each<[string, string, string[]]>([
    ['0 0 29 2 *', '2096-01-01T00:00:00Z', ['2096-02-29', '2104-02-29']],
    [
      '0 0 29 2 1',
      '2027-02-20T00:00:00Z',
      ['2027-02-22', '2028-02-07', '2028-02-14', '2028-02-21', '2028-02-28', '2028-02-29'],
    ],
    ['0 0 31 * *', '2026-01-31T00:00:00Z', ['2026-03-31', '2026-05-31', '2026-07-31', '2026-08-31', '2026-10-31']],
    ['0 0 30 * *', '2027-01-30T00:00:00Z', ['2027-03-30', '2027-04-30']],
    ['0 0 13 * 5', '2026-02-01T00:00:00Z', ['2026-02-06', '2026-02-13', '2026-02-20']],
    ['0 0 * * FRI-SUN', '2026-01-01T00:00:00Z', ['2026-01-02', '2026-01-03', '2026-01-04', '2026-01-09']],
    ['0 0 * * 7', '2026-01-01T00:00:00Z', ['2026-01-04', '2026-01-11']],
  ])('%s after %s', (cron, from, days) =>
    expect(timesOf(cron, 'UTC', from, days.length).map((time) => time.slice(0, 10))).toEqual(days),
  )

  it('knows every alias, in either case', () => {
    const meant = {
      '@yearly': '0 0 1 1 *',
      '@annually': '0 0 1 1 *',
      '@monthly': '0 0 1 * *',
      '@weekly': '0 0 * * SUN',
      '@daily': '0 0 * * *',
      '@midnight': '0 0 * * *',
      '@hourly': '0 * * * *',
      '@DAILY': '0 0 * * *',
    }
    for (const [alias, cron] of Object.entries(meant))
      expect(timesOf(alias, 'Asia/Kathmandu', '2026-01-01T00:00:00Z', 20)).toEqual(
        timesOf(cron, 'Asia/Kathmandu', '2026-01-01T00:00:00Z', 20),
      )
    expect(timesOf('@daily', 'Asia/Kathmandu', '2026-01-01T00:00:00Z', 1)).toEqual(['2026-01-02T00:00:00+05:45'])
  })
})

describe('slots', () => {
  const start = at('2026-01-01T00:00:00Z')
  const all = (schedule: CronSchedule, bounds: { startAt?: number; endAt: number }): number[] => {
    const slots = slotsOf(schedule, { anchorAt: start, startAt: null, ...bounds })
    const found: number[] = []
    for (let slot = slots.next(start - 86_400_000); slot !== null; slot = slots.next(slot)) found.push(slot - start)
    return found
  }

  it('at a fixed distance begin one distance after the anchor, or with the start', () => {
    expect(all({ every: 90 }, { endAt: start + 300_000 })).toEqual([90_000, 180_000, 270_000])
    expect(all({ every: 90 }, { startAt: start + 10_000, endAt: start + 190_000 })).toEqual([10_000, 100_000, 190_000])
  })

  it('include the start and the end', () => {
    const minutely = { cron: '* * * * *', tz: 'UTC' }
    expect(all(minutely, { startAt: start + 60_000, endAt: start + 180_000 })).toEqual([60_000, 120_000, 180_000])
    expect(all({ at: '2026-01-01T00:01:00.000Z' }, { endAt: start + 60_000 })).toEqual([60_000])
    expect(all({ at: '2026-01-01T00:01:00.000Z' }, { endAt: start + 59_999 })).toEqual([])
  })

  it('end with the year 9998, since no later one could be written down', () => {
    const bounds = { anchorAt: start, startAt: at('9998-12-31T23:58:30Z'), endAt: null }
    const slots = slotsOf({ every: 60 }, bounds)
    expect(slots.next(at('9998-12-31T23:58:30Z'))).toBe(at('9998-12-31T23:59:30Z'))
    expect(slots.next(at('9998-12-31T23:59:30Z'))).toBeNull()
  })

  it.each<[CronSchedule, number]>([
    [{ cron: '* * * * *', tz: 'UTC' }, 60],
    [{ cron: '*/7 * * * *', tz: 'UTC' }, 4 * 60],
    [{ cron: '*/45 * * * *', tz: 'Europe/Berlin' }, 15 * 60],
    [{ cron: '0 0 * * *', tz: 'UTC' }, 86_400],
    [{ cron: '0 0 * * *', tz: 'Europe/Berlin' }, 23 * 3600],
    [{ cron: '30 2,4 * * *', tz: 'Europe/Berlin' }, 3600],
    [{ cron: '0 0 * * 1', tz: 'UTC' }, 7 * 86_400],
    [{ cron: '0 0 28,29 2,3 *', tz: 'UTC' }, 86_400],
    [{ cron: '0 12 29 2 *', tz: 'UTC' }, 1461 * 86_400],
    [{ every: 3600 }, 3600],
    [{ at: '2026-05-01T00:00:00.000Z' }, Number.POSITIVE_INFINITY],
  ])('%j come at least %d seconds after each other', (schedule, seconds) =>
    expect(slotsOf(schedule, { anchorAt: start, startAt: null, endAt: null }).shortestGap() / 1000).toBe(seconds),
  )

  it('of years are counted without walking over them', () => {
    const slots = slotsOf({ cron: '* * * * *', tz: 'Europe/Berlin' }, { anchorAt: 0, startAt: null, endAt: null })
    expect(slots.count(start, start + 365 * 86_400_000)).toBe(365 * 1440)
  })
})
