import type { CronSchedule } from '#common/contract/cron.schema.js'
import { zoneOf } from './zone.js'

const two = (value: number): string => String(value).padStart(2, '0')

/**
 * A moment as a clock of that zone shows it, with its distance from UTC: `2026-03-29T03:30:00+02:00`.
 *
 * @throws SvcError timezone_unknown
 */
export const localTime = (moment: number, zone: string): string => {
  const offset = zoneOf(zone).offsetAt(moment)
  // A written offset has no seconds; those of the 19th century are cut off.
  const minutes = Math.trunc(offset / 60_000)
  const size = Math.abs(minutes)
  const shown = new Date(moment + minutes * 60_000).toISOString().slice(0, 19)
  return `${shown}${offset < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`
}

/** The zone that a schedule's times are shown in: UTC for those that have none. */
export const zoneNameOf = (schedule: CronSchedule): string => ('cron' in schedule ? schedule.tz : 'UTC')
