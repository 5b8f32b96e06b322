import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { jitterOf } from './jitter.js'
import { dueOf, type PlannedCron, planSlots, type SlotPlan, slotsOfCron } from './slot.plan.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const start = Date.UTC(2026, 0, 1)

const cronOf = (fields: Partial<PlannedCron> = {}): PlannedCron => ({
  id: 'cron_01jz0000000000000000000000',
  schedule: { cron: '* * * * *', tz: 'UTC' },
  status: 'active',
  missed: 'once',
  catchup_window_s: 3600,
  jitter_s: 0,
  start_at: null,
  end_at: null,
  anchor_at: new Date(start - DAY),
  next_slot: new Date(start),
  ...fields,
})

/** In minutes from the first slot. */
const minutes = (time: Date | null): number | null => time && (time.getTime() - start) / MINUTE
const told = (plan: SlotPlan) => ({
  lines: plan.lines.map((line) => [line.status, line.cause, minutes(line.slot), minutes(line.last_slot), line.slots]),
  fires: plan.fires.map((fire) => [minutes(fire.slot), fire.cause]),
  next: minutes(plan.nextSlot),
})

describe('a slot', () => {
  it('is decided about when it is due, not before', () => {
    expect(told(planSlots(cronOf(), start - 1))).toEqual({ lines: [], fires: [], next: 0 })
    expect(told(planSlots(cronOf(), start))).toEqual({ lines: [], fires: [[0, null]], next: 1 })
  })

  it('is on time for half a minute', () => {
    const hourly = cronOf({ schedule: { cron: '0 * * * *', tz: 'UTC' } })
    expect(told(planSlots(hourly, start + 30_000)).fires).toEqual([[0, null]])
    expect(told(planSlots(hourly, start + 30_001)).fires).toEqual([[0, 'late']])
  })

  it('is due with its jitter', () => {
    const cron = cronOf({ schedule: { every: 3600 }, anchor_at: new Date(start), jitter_s: 600 })
    const due = dueOf(cron, start)
    expect(due).toBe(start + jitterOf(cron.id, start, 600))
    expect(planSlots(cron, due - 1).fires).toEqual([])
    expect(planSlots(cron, due).fires).toEqual([{ slot: new Date(start), due_at: new Date(due), cause: null }])
    expect(planSlots(cron, due).nextDue).toEqual(new Date(dueOf(cron, start + HOUR)))
  })

  it('is the last one when the schedule ends or was for one moment', () => {
    const once = cronOf({ schedule: { at: new Date(start).toISOString() } })
    expect(planSlots(once, start)).toMatchObject({
      fires: [{ cause: null }],
      nextSlot: null,
      nextDue: null,
      exhausted: true,
    })
    const ending = cronOf({ end_at: new Date(start + MINUTE) })
    expect(planSlots(ending, start)).toMatchObject({ exhausted: false })
    expect(planSlots(ending, start + 10 * MINUTE)).toMatchObject({ exhausted: true, more: false })
    expect(planSlots(cronOf({ next_slot: null }), start)).toMatchObject({ lines: [], fires: [], exhausted: true })
  })

  it('is not decided about again when the clock goes back', () => {
    const { nextSlot } = planSlots(cronOf(), start)
    const again = planSlots(cronOf({ next_slot: nextSlot }), start - DAY)
    expect(told(again)).toEqual({ lines: [], fires: [], next: 1 })
  })
})

describe('slots that were missed', () => {
  const now = start + 3 * HOUR + 45_000

  it('are left out by `skip`, in one line', () => {
    expect(told(planSlots(cronOf({ missed: 'skip' }), now))).toEqual({
      lines: [['missed', 'policy', 0, 180, 181]],
      fires: [],
      next: 181,
    })
  })

  it('become the newest of the window by `once`', () => {
    expect(told(planSlots(cronOf(), now))).toEqual({
      lines: [
        ['missed', 'window', 0, 120, 121],
        ['coalesced', 'coalesced', 121, 179, 59],
      ],
      fires: [[180, 'late']],
      next: 181,
    })
  })

  it('become the one that is on time by `once`, where there is one', () => {
    const plan = planSlots(cronOf({ catchup_window_s: 120 }), start + 10 * MINUTE)
    expect(told(plan)).toEqual({
      lines: [
        ['missed', 'window', 0, 7, 8],
        ['coalesced', 'coalesced', 8, 9, 2],
      ],
      fires: [[10, null]],
      next: 11,
    })
  })

  it('are fired each by `all`, in order, the newest hundred of the window', () => {
    const plan = planSlots(cronOf({ missed: 'all', catchup_window_s: 7200 }), now)
    expect(told(plan).lines).toEqual([
      ['missed', 'window', 0, 60, 61],
      ['missed', 'cap', 61, 80, 20],
    ])
    expect(told(plan).fires).toEqual(Array.from({ length: 100 }, (_, index) => [81 + index, 'late']))
  })

  it('are only those on time when there is no window', () => {
    expect(told(planSlots(cronOf({ catchup_window_s: 0 }), now))).toEqual({
      lines: [['missed', 'window', 0, 180, 181]],
      fires: [],
      next: 181,
    })
  })

  it('pass a paused schedule by, in one line', () => {
    expect(told(planSlots(cronOf({ status: 'paused' }), now))).toEqual({
      lines: [['skipped', 'paused', 0, 180, 181]],
      fires: [],
      next: 181,
    })
  })

  it('of years are decided about a year at a time, and the newest one fires', () => {
    const now = start + 1000 * DAY + 45_000
    const plans: SlotPlan[] = []
    let cron = cronOf()
    do {
      const plan = planSlots(cron, now)
      plans.push(plan)
      cron = { ...cron, next_slot: plan.nextSlot }
    } while (plans.at(-1)?.more)
    expect(plans).toHaveLength(3)
    expect(plans.flatMap(({ fires }) => fires)).toEqual([
      { slot: new Date(start + 1000 * DAY), due_at: new Date(start + 1000 * DAY), cause: 'late' },
    ])
    const slots = plans.flatMap(({ lines }) => lines).reduce((sum, line) => sum + line.slots, 0)
    expect(slots).toBe(1000 * 1440)
  })
})

describe('every slot', () => {
  const cron = fc
    .record({
      schedule: fc.constantFrom<PlannedCron['schedule']>(
        { cron: '*/5 * * * *', tz: 'Europe/Berlin' },
        { cron: '30 2 * * *', tz: 'Europe/Berlin' },
        { cron: '*/20 1-3 * * *', tz: 'Australia/Lord_Howe' },
        { every: 600 },
      ),
      status: fc.constantFrom('active', 'paused'),
      missed: fc.constantFrom('skip', 'once', 'all'),
      catchup_window_s: fc.constantFrom(0, 60, 3600, 86_400),
      jitter_s: fc.constantFrom(0, 100, 299),
    })
    .map((fields) => cronOf({ ...fields, status: fields.status as 'active', missed: fields.missed as 'once' }))
  /** Looks at it after so many seconds, forward and back. */
  const looks = fc.array(fc.integer({ min: -7200, max: 4 * 86_400 }), { minLength: 1, maxLength: 8 })

  it('is decided about exactly once, whenever one looks', () => {
    fc.assert(
      fc.property(cron, looks, fc.integer({ min: 0, max: 365 }), (planned, steps, day) => {
        const slots = slotsOfCron(planned)
        const first = slots.next(start + day * DAY)
        let now = start + day * DAY
        let next = first
        let decided = 0
        for (const step of steps) {
          now += step * 1000
          const plan = planSlots({ ...planned, next_slot: next === null ? null : new Date(next) }, now)
          const rows = [
            ...plan.lines.map((line) => ({
              from: line.slot.getTime(),
              to: line.last_slot.getTime(),
              count: line.slots,
            })),
            ...plan.fires.map(({ slot }) => ({ from: slot.getTime(), to: slot.getTime(), count: 1 })),
          ]
          for (const row of rows) {
            expect(row.from).toBe(next)
            next = slots.next(row.to)
            decided += row.count
            expect(dueOf(planned, row.to)).toBeLessThanOrEqual(now)
          }
          expect(plan.nextSlot?.getTime()).toBe(next)
          if (next !== null) expect(plan.more || dueOf(planned, next) > now).toBe(true)
        }
        expect(decided).toBe(slots.count((first ?? 0) - 1, (next ?? 0) - 1))
      }),
      { numRuns: 200, seed: 3 },
    )
  })
})
