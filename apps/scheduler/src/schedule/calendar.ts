import { Cron } from 'croner'
import { type Expression, readExpression } from './expression.js'

export const DAY = 86_400_000
const MINUTE = 60_000

/** How far ahead a shortest distance is looked for: over a leap day wherever there is one every four years. */
export const LOOK_AHEAD = 8 * 366 * DAY

/**
 * The local times that a cron expression names, on a clock that is never put forward or back.
 *
 * A local time is a number like a moment: the milliseconds since the epoch at which a clock of UTC shows it.
 */
export class Calendar {
  /** Whether it names all hours of a day: such a schedule follows the clock, however that is put. */
  readonly everyHour: boolean
  readonly #times: Cron
  #midnights: Cron | undefined
  readonly #expression: Expression
  #timesOfDay: readonly number[] | undefined

  /** @throws ExpressionFault */
  constructor(expression: string) {
    this.#expression = readExpression(expression)
    this.everyHour = this.#expression.hours.length === 24
    this.#times = new Cron(this.#expression.fields, { mode: '5-part', utcOffset: 0 })
  }

  /** The first after `time`; null when there is none before the year 3000. */
  next(time: number): number | null {
    return this.#times.nextRun(new Date(time))?.getTime() ?? null
  }

  /** The last before `time`; null when there is none in 400 years. */
  previous(time: number): number | null {
    return this.#times.previousRuns(1, new Date(time))[0]?.getTime() ?? null
  }

  names(time: number): boolean {
    return this.next(time - 1) === time
  }

  /** How many lie in [from, until): counted by days, however many a day has. */
  count(from: number, until: number): number {
    if (from >= until) return 0
    const times = this.#daily()
    const first = Math.floor(from / DAY) * DAY
    const last = Math.floor(until / DAY) * DAY
    const before = (time: number): number => times.filter((timeOfDay) => timeOfDay < time).length
    let count = 0
    for (let day = this.#dayFrom(first); day !== null && day <= last; day = this.#dayFrom(day + DAY)) {
      count += day === last ? before(until - last) : times.length
      if (day === first) count -= before(from - first)
    }
    return count
  }

  /** The shortest distance of two in a row from `from` on, of the days that `LOOK_AHEAD` shows. */
  shortestGap(from: number): number {
    const times = this.#daily()
    const inDay = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    const overNight = (times[0] ?? 0) - (times.at(-1) ?? 0)
    return Math.min(...inDay, overNight + this.#shortestOfDays(from))
  }

  #shortestOfDays(from: number): number {
    let shortest = Number.POSITIVE_INFINITY
    let day = this.#dayFrom(from)
    while (day !== null && day < from + LOOK_AHEAD && shortest > DAY) {
      const next = this.#dayFrom(day + DAY)
      if (next !== null) shortest = Math.min(shortest, next - day)
      day = next
    }
    return shortest
  }

  /** The first day that begins at `time` or later. */
  #dayFrom(time: number): number | null {
    this.#midnights ??= new Cron(this.#expression.fields.replace(/^\S+ \S+/, '0 0'), { mode: '5-part', utcOffset: 0 })
    return this.#midnights.nextRun(new Date(time - 1))?.getTime() ?? null
  }

  #daily(): readonly number[] {
    this.#timesOfDay ??= this.#expression.hours.flatMap((hour) =>
      this.#expression.minutes.map((minute) => (hour * 60 + minute) * MINUTE),
    )
    return this.#timesOfDay
  }
}
