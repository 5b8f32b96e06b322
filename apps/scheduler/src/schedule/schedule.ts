import type { CronSchedule } from '#common/contract/cron.schema.js'
import { SvcError } from '#common/kernel/errors.js'
import { Calendar } from './calendar.js'
import { CalendarSlots } from './calendar.slots.js'
import { ExpressionFault } from './expression.js'
import { EvenSlots, SingleSlot, type Slots } from './slots.js'
import { zoneOf } from './zone.js'

/** Milliseconds since the epoch. */
export interface Bounds {
  /** Where slots at a fixed distance are counted from, when there is no start: the first comes one distance later. */
  readonly anchorAt: number
  /** No slot before it; slots at a fixed distance begin with it. */
  readonly startAt: number | null
  /** No slot after it. */
  readonly endAt: number | null
}

/** The end of the year 9998: a slot and its jitter have four digits of year, as everything that is read back. */
const lastMoment = Date.parse('9998-12-31T23:59:59.999Z')

/** Expressions that were read lately: each takes some 100 KB, and many schedules have the same. */
const calendars = new Map<string, Calendar>()
const mostCalendars = 128

const readCalendar = (expression: string): Calendar => {
  const known = calendars.get(expression)
  if (known) return known
  try {
    const calendar = new Calendar(expression)
    if (calendars.size >= mostCalendars) calendars.clear()
    calendars.set(expression, calendar)
    return calendar
  } catch (error) {
    if (!(error instanceof ExpressionFault)) throw error
    throw new SvcError('validation_failed', undefined, {
      errors: [{ pointer: '/schedule/cron', message: error.message }],
    })
  }
}

/**
 * The slots of a schedule. Which of them a clock that is put forward or back has, `CalendarSlots` says.
 *
 * @throws SvcError validation_failed that points at the expression, timezone_unknown
 */
export const slotsOf = (schedule: CronSchedule, { anchorAt, startAt, endAt }: Bounds): Slots => {
  const last = Math.min(endAt ?? lastMoment, lastMoment)
  if ('at' in schedule) {
    return new SingleSlot(Date.parse(schedule.at), { first: startAt ?? Number.NEGATIVE_INFINITY, last })
  }
  if ('every' in schedule) {
    const gap = schedule.every * 1000
    return new EvenSlots(gap, { first: startAt ?? anchorAt + gap, last })
  }
  const calendar = readCalendar(schedule.cron)
  return new CalendarSlots(calendar, zoneOf(schedule.tz), { first: Math.max(anchorAt, startAt ?? anchorAt), last })
}
