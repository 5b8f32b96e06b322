import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { zoneOf } from './zone.js'

const zones = [
  'Europe/Berlin',
  'America/New_York',
  'Africa/Casablanca',
  'Asia/Gaza',
  'Australia/Lord_Howe',
  'Asia/Tokyo',
]
const day = 86_400_000

/** As the machine's own data has it. */
const offsetOf = (moment: number, timeZone: string): number => {
  const shown = new Date(moment).toLocaleString('sv-SE', { timeZone })
  return Date.parse(`${shown.replace(' ', 'T')}Z`) - moment
}

describe('a zone', () => {
  afterEach(() => void jest.restoreAllMocks())

  it.each(zones)('%s has the offsets of its rules in every year to come', (name) => {
    const zone = zoneOf(name)
    for (let moment = Date.UTC(2095, 0); moment < Date.UTC(2995, 0); moment += 41.13 * day) {
      const whole = Math.floor(moment / 1000) * 1000
      expect([whole, zone.offsetAt(whole)]).toEqual([whole, offsetOf(whole, name)])
    }
  })

  // Leap days of 400 years were found out anew each time: 100 ms, in which nothing else is done.
  it('is found out once, however far ahead it is looked at', () => {
    const look = (): void => {
      for (let year = 2026; year < 2995; year++) zoneOf('Europe/Paris').offsetAt(Date.UTC(year, 6))
    }
    look()
    const asked = jest.spyOn(Intl.DateTimeFormat.prototype as { format: unknown }, 'format', 'get')
    look()
    expect(asked).not.toHaveBeenCalled()
  })
})
