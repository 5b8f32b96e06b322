import type { Command } from 'commander'
import type { CronScheduleInput } from '#sdk/index.js'
import { now } from '../../clock.js'
import { secondsOf } from '../../cron/duration.js'
import { machineZone, zonedTime } from '../../cron/zoned.time.js'
import { UsageError } from '../../failure.js'

export interface ScheduleFlags {
  readonly cron?: string
  readonly tz?: string
  readonly every?: string
  readonly at?: string
  readonly in?: string
  readonly start?: string
  readonly end?: string
}

/** When it fires, and between which moments. */
export interface Times {
  readonly schedule: CronScheduleInput
  readonly start_at?: string
  readonly end_at?: string
}

export const addScheduleFlags = (made: Command): Command =>
  made
    .option('--cron <fields>', 'minute, hour, day of month, month, day of week; or @hourly, @daily, @weekly …')
    .option('--tz <zone>', "zone of --cron, and of times without an offset; this machine's unless given")
    .option('--every <time>', 'at this distance: 90s, 15m, 1h30m, 2d')
    .option('--at <time>', 'once, at this time: 2030-01-31T09:00')
    .option('--in <time>', 'once, so long from now')
    .option('--start <time>', 'not before this time')
    .option('--end <time>', 'not after this time')

export const hasSchedule = ({ cron, every, at, in: after }: ScheduleFlags): boolean =>
  [cron, every, at, after].some((one) => one !== undefined)

/** The zone that times of the line are meant in. */
export const zoneOf = ({ tz }: ScheduleFlags): string => tz ?? machineZone()

/** @throws UsageError unless there is exactly one schedule, and every time of it is one */
export const timesOf = (flags: ScheduleFlags): Times => {
  const { start, end } = flags
  return {
    schedule: scheduleOf(flags),
    ...(start !== undefined && { start_at: momentOf(start, flags) }),
    ...(end !== undefined && { end_at: momentOf(end, flags) }),
  }
}

const scheduleOf = (flags: ScheduleFlags): CronScheduleInput => {
  const { cron, tz, every, at, in: after, start, end } = flags
  const given = Object.entries({ cron, every, at, in: after }).filter(([, value]) => value !== undefined)
  if (given.length !== 1) {
    throw new UsageError(
      given.length
        ? `there are several schedules: ${given.map(([name]) => `--${name}`).join(', ')}`
        : 'when is missing',
      'say one of --cron "0 9 * * 1-5", --every 15m, --at 2030-01-31T09:00 and --in 2h',
    )
  }
  const meant = [at, start, end].filter((text) => text !== undefined)
  if (tz !== undefined && cron === undefined && !meant.length) {
    throw new UsageError('--tz says nothing here', 'it is the zone of --cron, --at, --start and --end')
  }
  if (cron !== undefined) return { cron, tz: zoneOf(flags) }
  if (every !== undefined) return { every: secondsOf(every) }
  return { at: at === undefined ? fromNow(after as string) : momentOf(at, flags) }
}

const fromNow = (text: string): string => new Date(now() + secondsOf(text) * 1000).toISOString()

/** A time of the clock, or so long from now. */
const momentOf = (text: string, flags: ScheduleFlags): string =>
  /^[\ddhms]+$/.test(text) && /[dhms]$/.test(text) ? fromNow(text) : zonedTime(text, zoneOf(flags)).toISOString()
