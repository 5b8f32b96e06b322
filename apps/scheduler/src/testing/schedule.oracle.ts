import { CronDate, CronExpressionParser } from 'cron-parser'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Around a change that the library does not get over by itself, this much on both sides. */
const aside = 4 * HOUR

interface Change {
  readonly at: number
  readonly before: number
  readonly after: number
}

const offsetAt = (moment: number, tz: string): number => new CronDate(new Date(moment), tz).getUTCOffset() * MINUTE

/** Where the library's own clock of a zone is put forward or back. */
export const changesOf = (tz: string, from: number, until: number): Change[] => {
  const changes: Change[] = []
  for (let day = from; day < until; day += DAY) {
    let [low, high] = [day, day + DAY]
    const [before, after] = [offsetAt(low, tz), offsetAt(high, tz)]
    if (before === after) continue
    while (high - low > 1000) {
      const middle = low + Math.floor((high - low) / 2000) * 1000
      if (offsetAt(middle, tz) === before) low = middle
      else high = middle
    }
    changes.push({ at: high, before, after })
  }
  return changes
}

/**
 * What the library's walk does not get over: it leaves out what is named for a gap at midnight and takes the second of two
 * midnights; where a clock is put by less than an hour, or at another minute than the full hour, it leaves times out, names
 * them twice, or never ends.
 */
const stumbles = ({ at, before, after }: Change): boolean => {
  const [left, reached] = [at + before, at + after]
  const fullHours = left % HOUR === 0 && reached % HOUR === 0
  return !fullHours || left % DAY === 0 || reached % DAY === 0 || Math.floor(left / DAY) !== Math.floor(reached / DAY)
}

/** The library's walk: what it names in [from, until). Without the end it would look on over changes that it never gets over. */
export const walked = (cron: string, tz: string, from: number, until: number): number[] => {
  const [currentDate, endDate] = [new Date(from - 1), new Date(until - 1)]
  return Array.from(CronExpressionParser.parse(cron, { tz, currentDate, endDate }), (slot) => slot.getTime())
}

/**
 * The rule, minute by minute, of what the library says that an expression includes: of certain hours, local times that are
 * left out count by the clock of before, and those that come twice the first time; of every hour, what the clock shows.
 */
export const ruled = (cron: string, change: Change, from: number, until: number): number[] => {
  const expression = CronExpressionParser.parse(cron, { tz: 'UTC' })
  const everyHour = expression.fields.hour.values.length === 24
  const { at, before, after } = change
  const slots: number[] = []
  for (let minute = Math.ceil(from / MINUTE) * MINUTE; minute < until; minute += MINUTE) {
    const shown = minute + (minute < at ? before : after)
    const again = minute >= at && shown < at + before
    const movedHere = minute >= at && minute + before < at + after
    const includes = (time: number): boolean => expression.includesDate(new Date(time))
    if (everyHour ? includes(shown) : (!again && includes(shown)) || (movedHere && includes(minute + before)))
      slots.push(minute)
  }
  return slots
}

/** What the library names in [from, until): its own walk wherever it gets over the changes, and the rule where it does not. */
export const expectedSlots = (
  cron: string,
  tz: string,
  changes: readonly Change[],
  { from, until }: { from: number; until: number },
): number[] => {
  const slots: number[] = []
  let reached = from
  for (const change of changes.filter((each) => stumbles(each) && each.at > from && each.at < until)) {
    const [low, high] = [Math.max(reached, change.at - aside), Math.min(until, change.at + aside)]
    slots.push(...walked(cron, tz, reached, low), ...ruled(cron, change, low, high))
    reached = high
  }
  return [...slots, ...walked(cron, tz, reached, until)]
}

export const isSound = (change: Change): boolean => !stumbles(change)
