import { SvcError } from '#common/kernel/errors.js'

const DAY = 86_400_000
/** Years of a zone that are remembered: about 0.3 ms each to find out. All to come are fewer, with those like them. */
const mostYears = 150
/** From here on every zone follows rules, which only know on which day of the week a year begins and how long it is. */
const ruled = 2101

const startOf = (year: number): number => new Date(0).setUTCFullYear(year, 0, 1)
const lengthOf = (year: number): number => startOf(year + 1) - startOf(year)

/** The first year that follows the rules as this one does; itself, before there are only rules. */
const likeOf = (year: number): number => {
  let like = Math.min(year, ruled)
  while (lengthOf(like) !== lengthOf(year) || (startOf(year) - startOf(like)) % (7 * DAY) !== 0) like++
  return like
}

/** A time in which a zone's clock runs evenly. */
export interface Span {
  /** Moments: the first one, and the first one after it. */
  readonly from: number
  readonly until: number
  /** Milliseconds from UTC to the zone's clock, in this span and in the moment before it. */
  readonly offset: number
  readonly before: number
}

/** A time zone as the machine's own data has it. Spans end at the turn of a year too, and are found a year at a time. */
export class Zone {
  readonly name: string
  readonly #format: Intl.DateTimeFormat
  readonly #years = new Map<number, readonly Span[]>()

  /** @throws RangeError for a name that is none. */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
    this.name = this.#format.resolvedOptions().timeZone
  }

  offsetAt(moment: number): number {
    return this.spanAt(moment).offset
  }

  spanAt(moment: number): Span {
    const spans = this.#spansOf(new Date(moment).getUTCFullYear())
    const span = spans.find(({ until }) => moment < until)
    if (!span) throw new RangeError(`No moment of ${this.name}: ${moment}`)
    return span
  }

  /** Moments after `from` and up to `until` at which the clock is put forward or back. */
  changes(from: number, until: number): Span[] {
    const found: Span[] = []
    for (let span = this.spanAt(from); span.until <= until; ) {
      span = this.spanAt(span.until)
      if (span.offset !== span.before) found.push(span)
    }
    return found
  }

  #spansOf(year: number): readonly Span[] {
    const like = likeOf(year)
    const spans = this.#years.get(like) ?? this.#learn(like)
    const later = startOf(year) - startOf(like)
    return later === 0 ? spans : spans.map((span) => ({ ...span, from: span.from + later, until: span.until + later }))
  }

  #learn(year: number): readonly Span[] {
    if (this.#years.size >= mostYears) this.#years.clear()
    const spans = this.#findSpans(startOf(year), startOf(year + 1))
    this.#years.set(year, spans)
    return spans
  }

  /** Looks once a day: no zone has ever put its clock and put it back within one. */
  #findSpans(start: number, end: number): Span[] {
    const spans: Span[] = []
    let from = start
    let before = this.#ask(start - 1)
    let offset = this.#ask(start)
    for (let day = start + DAY; day <= end; day += DAY) {
      const there = this.#ask(Math.min(day, end - 1))
      if (there === offset) continue
      const until = this.#changeBetween(day - DAY, day, offset)
      spans.push({ from, until, offset, before })
      ;[from, before, offset] = [until, offset, there]
    }
    spans.push({ from, until: end, offset, before })
    return spans
  }

  /** The first second in (low, high] at which the clock is no longer `offset` ahead. */
  #changeBetween(low: number, high: number, offset: number): number {
    let [same, other] = [low / 1000, high / 1000]
    while (other - same > 1) {
      const middle = Math.floor((same + other) / 2)
      if (this.#ask(middle * 1000) === offset) same = middle
      else other = middle
    }
    return other * 1000
  }

  #ask(moment: number): number {
    const [, sign, hours = 0, minutes = 0, seconds = 0] =
      /GMT(?:([+-])(\d+):(\d+)(?::(\d+))?)?$/.exec(this.#format.format(moment)) ?? []
    const size = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
    return sign === '-' ? -size : size
  }
}

/** By name in small letters; there are about six hundred, and what is none of them is not kept. */
const zones = new Map<string, Zone>()

/**
 * The zone of that name, in any case of letters. An offset like `+02:00` is none: it knows no summer.
 *
 * @throws SvcError timezone_unknown
 */
export const zoneOf = (name: string): Zone => {
  const key = name.toLowerCase()
  if (!/^[A-Za-z][A-Za-z0-9/_+-]*$/.test(name)) throw unknownZone(name)
  const known = zones.get(key)
  if (known) return known
  try {
    const zone = new Zone(name)
    zones.set(key, zone)
    return zone
  } catch (error) {
    if (error instanceof RangeError) throw unknownZone(name)
    throw error
  }
}

const unknownZone = (name: string): SvcError =>
  new SvcError('timezone_unknown', `There is no time zone ${JSON.stringify(name)}.`)
