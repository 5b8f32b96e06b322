import { describe, expect, it } from '@jest/globals'
import { UsageError } from '../failure.js'
import { localTime, readableTime, zonedTime } from './zoned.time.js'

const berlin = 'Europe/Berlin'

describe('a time of the clock', () => {
  it.each([
    ['2030-01-31T09:00', berlin, '2030-01-31T08:00:00.000Z'],
    ['2030-07-31 09:00', berlin, '2030-07-31T07:00:00.000Z'],
    ['2030-07-31T09:00:30.5', 'UTC', '2030-07-31T09:00:30.000Z'],
    ['2030-07-31', 'Asia/Tokyo', '2030-07-30T15:00:00.000Z'],
    ['2030-07-31T09:00', 'Asia/Kathmandu', '2030-07-31T03:15:00.000Z'],
    ['2030-07-31T09:00', 'America/St_Johns', '2030-07-31T11:30:00.000Z'],
    // either side of the hour that is skipped, and of the one that comes twice
    ['2026-03-29T01:59:59', berlin, '2026-03-29T00:59:59.000Z'],
    ['2026-03-29T03:00', berlin, '2026-03-29T01:00:00.000Z'],
    ['2026-10-25T01:59', berlin, '2026-10-24T23:59:00.000Z'],
    ['2026-10-25T03:00', berlin, '2026-10-25T02:00:00.000Z'],
    // with an offset the zone says nothing
    ['2026-10-25T02:30+02:00', berlin, '2026-10-25T00:30:00.000Z'],
    ['2026-10-25T02:30+0100', berlin, '2026-10-25T01:30:00.000Z'],
    ['2026-10-25T02:30z', berlin, '2026-10-25T02:30:00.000Z'],
    ['2026-01-01T00:00-03:30', berlin, '2026-01-01T03:30:00.000Z'],
    ['2028-02-29T12:00', 'UTC', '2028-02-29T12:00:00.000Z'],
  ])('%s in %s is %s', (text, zone, moment) => {
    expect(zonedTime(text, zone).toISOString()).toBe(moment)
  })

  it.each([
    '',
    'soon',
    '09:00',
    '2030-01-31T9:00',
    '2030-02-30T09:00',
    '2027-02-29',
    '2030-13-01',
    '2030-01-31T24:00',
    '2030-01-31T09:60',
    '2030-01-31T09:00 Berlin',
  ])('%j is none', (text) => {
    expect(() => zonedTime(text, berlin)).toThrow(UsageError)
  })

  it('is refused where the clocks skip it, or show it twice', () => {
    expect(() => zonedTime('2026-03-29T02:30', berlin)).toThrow('does not exist in Europe/Berlin')
    expect(() => zonedTime('2026-10-25T02:30', berlin)).toThrow(
      expect.objectContaining({
        message: '2026-10-25T02:30 comes twice in Europe/Berlin: the clocks are set back over it',
        remedy: 'say which by its offset: 2026-10-25T02:30:00+02:00 or 2026-10-25T02:30:00+01:00',
      }),
    )
    // Samoa went over the date line: this whole day is missing there
    expect(() => zonedTime('2011-12-30T12:00', 'Pacific/Apia')).toThrow('does not exist')
  })

  it('is refused in a zone that is none', () => {
    expect(() => zonedTime('2030-01-31T09:00', 'Europe/Berln')).toThrow('no time zone Europe/Berln')
  })

  it('means the moment at which a clock of the zone shows it, in every zone', () => {
    const zones = Intl.supportedValuesOf('timeZone')
    let seed = 20260101
    for (let round = 0; round < 3000; round++) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      const zone = zones[seed % zones.length] as string
      const moment = Date.UTC(2020, 0, 1) + (seed % 631_152_000) * 1000
      const shown = localTime(moment, zone)
      expect(zonedTime(shown, zone).getTime()).toBe(moment)
      // without its offset, unless that decides
      const plain = shown.slice(0, 19)
      let meant: number | string
      try {
        meant = zonedTime(plain, zone).getTime()
      } catch (error) {
        meant = (error as UsageError).remedy ?? ''
      }
      expect([moment, expect.stringContaining(shown)]).toContainEqual(meant)
    }
  })

  it('is shown with its day and its offset', () => {
    expect(readableTime('2026-03-29T01:30:00.000Z', berlin)).toBe('Sun 2026-03-29 03:30:00 +02:00')
    expect(readableTime('2030-01-31T08:00:00.000Z', 'America/St_Johns')).toBe('Thu 2030-01-31 04:30:00 -03:30')
    expect(readableTime('2030-01-31T08:00:00.000Z', 'UTC')).toBe('Thu 2030-01-31 08:00:00 +00:00')
  })
})
