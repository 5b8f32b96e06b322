import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { changesOf, expectedSlots, isSound, ruled, walked } from '../testing/schedule.oracle.js'
import { slotsOf } from './schedule.js'

/**
 * `SVC_SCHEDULE_RUNS=2000 npm run test:unit -- schedule.properties` is the long proof; `SVC_SCHEDULE_SEED` for another one.
 * Each run is one expression in one zone over ten years.
 */
const numRuns = Number(process.env.SVC_SCHEDULE_RUNS ?? 10)
const seed = Number(process.env.SVC_SCHEDULE_SEED ?? 1)
/** Milliseconds for a test: the library takes some seconds for ten years. */
const patience = 60_000 + numRuns * 10_000
const DAY = 86_400_000
const decade = { from: Date.UTC(2024, 0), until: Date.UTC(2034, 0) }

/** Half of them put their clocks forward and back: at midnight, by half an hour, twice a year for Ramadan, below zero. */
const zones = [
  'Europe/Berlin',
  'Europe/London',
  'Europe/Dublin',
  'Europe/Lisbon',
  'Europe/Chisinau',
  'Europe/Istanbul',
  'America/New_York',
  'America/Los_Angeles',
  'America/St_Johns',
  'America/Havana',
  'America/Santiago',
  'America/Asuncion',
  'America/Sao_Paulo',
  'America/Nuuk',
  'America/Scoresbysund',
  'America/Phoenix',
  'Africa/Casablanca',
  'Africa/Cairo',
  'Africa/Lagos',
  'Asia/Beirut',
  'Asia/Jerusalem',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Tokyo',
  'Asia/Gaza',
  'Australia/Lord_Howe',
  'Australia/Adelaide',
  'Pacific/Chatham',
  'Pacific/Apia',
  'Antarctica/Troll',
  'UTC',
]

const changes = new Map<string, ReturnType<typeof changesOf>>()
const changesIn = (tz: string): ReturnType<typeof changesOf> => {
  const found = changes.get(tz) ?? changesOf(tz, decade.from, decade.until)
  changes.set(tz, found)
  return found
}

const ourSlots = (cron: string, tz: string, { from, until }: { from: number; until: number }): number[] => {
  const slots = slotsOf({ cron, tz }, { anchorAt: from, startAt: null, endAt: until - 1 })
  const found: number[] = []
  for (let slot = slots.next(from - 1); slot !== null; slot = slots.next(slot)) found.push(slot)
  return found
}

const number = (least: number, most: number) => fc.integer({ min: least, max: most })
const span = (least: number, most: number) =>
  fc
    .tuple(number(least, most), number(least, most))
    .map(([one, other]) => `${Math.min(one, other)}-${Math.max(one, other)}`)
const item = (least: number, most: number) =>
  fc.oneof(
    { weight: 4, arbitrary: number(least, most).map(String) },
    { weight: 2, arbitrary: span(least, most) },
    { weight: 1, arbitrary: fc.tuple(span(least, most), number(1, 5)).map(([range, step]) => `${range}/${step}`) },
    { weight: 1, arbitrary: number(1, most - least).map((step) => `*/${step}`) },
  )
/** The library refuses lists that name a number twice. */
const list = (least: number, most: number) =>
  fc.oneof(
    { weight: 3, arbitrary: item(least, most) },
    {
      weight: 2,
      arbitrary: fc.uniqueArray(number(least, most), { minLength: 2, maxLength: 4 }).map((values) => values.join(',')),
    },
    {
      weight: 1,
      arbitrary: fc
        .uniqueArray(number(least, most), { minLength: 3, maxLength: 3 })
        .map((values) => values.sort((one, other) => one - other))
        .map(([one, two, three]) => `${one},${two}-${three}`),
    },
  )
const star = fc.constant('*')

const day = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(star, star) },
  { weight: 2, arbitrary: fc.tuple(list(1, 31), star) },
  { weight: 2, arbitrary: fc.tuple(list(1, 28), list(1, 12)) },
  { weight: 1, arbitrary: fc.tuple(star, fc.constantFrom('JAN', 'feb', 'MAR-may', 'OCT,nov', '3,10', '4-9')) },
  { weight: 1, arbitrary: fc.constant<[string, string]>(['29', '2']) },
)
const weekday = fc.oneof(
  { weight: 4, arbitrary: star },
  { weight: 2, arbitrary: list(0, 6) },
  { weight: 1, arbitrary: fc.constantFrom('MON-FRI', 'sun', 'SUN,WED', '5-7', '7', 'MON-FRI/2') },
)
const expression = (minute: fc.Arbitrary<string>, hour: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(minute, hour, day, weekday).map(([m, h, [d, month], w]) => `${m} ${h} ${d} ${month} ${w}`)

/** Hours at which clocks are put forward and back are likelier than others. */
const sparse = expression(number(0, 59).map(String), fc.oneof(number(0, 4), number(0, 23), number(22, 23)).map(String))
const dense = expression(fc.oneof(list(0, 59), star), fc.oneof(list(0, 23), list(0, 4), star))
const zone = fc.constantFrom(...zones)

describe('the slots of an expression, and what cron-parser says', () => {
  it(
    'are the same over ten years, in thirty zones',
    () => {
      fc.assert(
        fc.property(sparse, zone, (cron, tz) => {
          expect(ourSlots(cron, tz, decade)).toEqual(expectedSlots(cron, tz, changesIn(tz), decade))
        }),
        { numRuns, seed },
      )
    },
    patience,
  )

  it(
    'are the same around every change of a clock and every end of February, however many there are',
    () => {
      fc.assert(
        fc.property(dense, zone, number(2024, 2033), (cron, tz, year) => {
          const moments = [...changesIn(tz).map(({ at }) => at), Date.UTC(year, 2, 1), Date.UTC(year + 1, 0)]
          const near = moments.filter((at) => new Date(at).getUTCFullYear() === year)
          for (const at of near) {
            const days = { from: at - 2 * DAY, until: at + 2 * DAY }
            expect(ourSlots(cron, tz, days)).toEqual(expectedSlots(cron, tz, changesIn(tz), days))
          }
        }),
        { numRuns, seed },
      )
    },
    patience,
  )

  it(
    'are what the rule says wherever the library walks over a change itself',
    () => {
      fc.assert(
        fc.property(dense, zone, fc.nat(), (cron, tz, choice) => {
          const sound = changesIn(tz).filter(isSound)
          const change = sound[choice % sound.length]
          if (!change) return
          const [from, until] = [change.at - DAY, change.at + DAY]
          expect(ruled(cron, change, from, until)).toEqual(walked(cron, tz, from, until))
        }),
        { numRuns, seed },
      )
    },
    patience,
  )
})

describe('going back and counting', () => {
  const spans = fc.tuple(dense, zone, number(2024, 2033), number(0, 365), number(1, 4 * 1440))

  it(
    'find what going forward finds',
    () => {
      fc.assert(
        fc.property(spans, ([cron, tz, year, ofYear, length]) => {
          const moments = [Date.UTC(year, 0, ofYear), ...changesIn(tz).map(({ at }) => at - DAY)]
          const from = moments[length % moments.length] ?? 0
          const until = from + length * 60_000
          const slots = slotsOf({ cron, tz }, { anchorAt: from, startAt: null, endAt: null })
          const forward = ourSlots(cron, tz, { from, until })
          const back: number[] = []
          for (let slot = slots.previous(until); slot !== null; slot = slots.previous(slot)) back.unshift(slot)
          expect(back).toEqual(forward)
          expect(slots.count(from - 1, until - 1)).toBe(forward.length)
        }),
        { numRuns: numRuns * 2, seed },
      )
    },
    patience,
  )
})
