import type { CronRecord } from '../cron/cron.record.js'

/** Ms of a second at which slots of the schedule itself lie: a calendar's at its begin, others as far in as they started. */
const ownPlaces = ({ schedule, anchor_at, start_at }: CronRecord): number[] => {
  const moments = [0, anchor_at.getTime(), start_at?.getTime() ?? 0, 'at' in schedule ? Date.parse(schedule.at) : 0]
  return moments.map((moment) => moment % 1000)
}

/**
 * A moment for a firing by hand: now, or the next millisecond that no slot of the schedule can have and no firing has.
 *
 * @param taken slots of its lines from now on
 */
export const freeSlot = (cron: CronRecord, now: Date, taken: readonly Date[]): Date => {
  const places = new Set(ownPlaces(cron))
  const used = new Set(taken.map((slot) => slot.getTime()))
  let slot = now.getTime()
  while (places.has(slot % 1000) || used.has(slot)) slot += 1
  return new Date(slot)
}
