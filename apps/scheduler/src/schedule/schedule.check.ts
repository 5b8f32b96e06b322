import { type CronSchedule, cronLimits } from '#common/contract/cron.schema.js'
import { isoTime } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import { type Bounds, slotsOf } from './schedule.js'
import type { Slots } from './slots.js'

const nothingComes = (schedule: CronSchedule, { startAt, endAt }: Bounds): string => {
  if (startAt !== null && endAt !== null && endAt < startAt) return '`end_at` lies before `start_at`.'
  const within = startAt !== null || endAt !== null ? ' between `start_at` and `end_at`' : ''
  return 'cron' in schedule
    ? `\`${schedule.cron}\` names no moment from now on${within}.`
    : `There is no slot from now on${within}.`
}

/**
 * The slots of a schedule that is to be taken; there is one after `now`.
 *
 * @throws SvcError with one code: validation_failed that points at the expression, timezone_unknown, schedule_too_frequent
 * with `minimum_s`, schedule_past with `now` and `at`, schedule_impossible.
 */
export const requireSchedule = (schedule: CronSchedule, bounds: Bounds, now: number): Slots => {
  const slots = slotsOf(schedule, bounds)
  if ('every' in schedule && schedule.every < cronLimits.cadence)
    throw new SvcError('schedule_too_frequent', undefined, { minimum_s: cronLimits.cadence })
  if ('at' in schedule && Date.parse(schedule.at) <= now)
    throw new SvcError('schedule_past', undefined, { now: isoTime(now), at: schedule.at })
  if (slots.next(now) === null) throw new SvcError('schedule_impossible', nothingComes(schedule, bounds))
  return slots
}

/** @throws SvcError validation_failed when a slot could be fired after the one that follows it. */
export const requireJitter = (jitterS: number, slots: Slots): void => {
  if (jitterS === 0) return
  const gap = slots.shortestGap()
  if (jitterS * 1000 < gap) return
  const message = `must be less than ${gap / 1000}, the seconds between two slots`
  throw new SvcError('validation_failed', undefined, { errors: [{ pointer: '/jitter_s', message }] })
}
