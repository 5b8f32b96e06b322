import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { mostTries, nextAttempt, retryAfterOf, retryDelays } from './retry.schedule.js'

const now = Date.UTC(2026, 0, 1)
const hours = 3_600_000
const wait = (tries: number, more: { asked?: number; random?: () => number } = {}): number | undefined => {
  const next = nextAttempt(tries, { now, random: () => 0, ...more })
  return next && next.getTime() - now
}

describe('when a delivery is tried again', () => {
  it('is 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h after a try in vain, and then never', () => {
    const tries = Array.from({ length: mostTries }, (_, at) => at + 1)
    const waits = tries.map((count) => wait(count))
    expect(waits).toEqual(
      [5 / 3600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24].map((length) => length * hours).concat([undefined as never]),
    )
  })

  it('is never earlier, and at most a tenth later', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (count, drawn) => {
          const [waited, delay] = [wait(count, { random: () => drawn }) as number, retryDelays[count - 1] as number]
          expect(waited).toBeGreaterThanOrEqual(delay)
          expect(waited).toBeLessThanOrEqual(delay * 1.1 + 1)
        },
      ),
    )
  })

  it('is as late as the receiver asks, but for a day at most, and not earlier for it', () => {
    expect(wait(1, { asked: 60_000 })).toBe(60_000)
    expect(wait(2, { asked: 1000 })).toBe(300_000)
    expect(wait(1, { asked: 9 * 24 * hours })).toBe(24 * hours)
    expect(wait(mostTries, { asked: 60_000 })).toBeUndefined()
  })
})

describe('Retry-After', () => {
  it.each([
    ['120', 120_000],
    [' 0 ', 0],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
    ['', undefined],
    [undefined, undefined],
    ['-5', undefined],
    ['1e9', undefined],
    ['99999999999999', undefined],
    ['soon', undefined],
    ['2026-01-02', undefined],
    ['Thu, whenever', undefined],
  ])('%s', (header, ms) => {
    expect(retryAfterOf(header, now)).toBe(ms)
  })
})
