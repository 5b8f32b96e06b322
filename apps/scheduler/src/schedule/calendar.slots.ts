import { type Calendar, DAY, LOOK_AHEAD } from './calendar.js'
import type { Limits, Slots } from './slots.js'
import type { Span, Zone } from './zone.js'

const MINUTE = 60_000

/** Local times [from, until) that a span shows or stands in for, and what to take off to have the moment. */
interface Window {
  readonly from: number
  readonly until: number
  readonly offset: number
}

/**
 * The slots of a calendar by the clock of a zone.
 *
 * Where a clock is put forward or back, a schedule of certain hours keeps each of its local times once: one that the clock
 * leaves out is moved by as much as the clock was (02:30 becomes 03:30), one that comes twice is taken the first time. A
 * schedule of every hour follows the clock instead: minutes that are left out have no slot, and those that come twice two.
 */
export class CalendarSlots implements Slots {
  readonly #calendar: Calendar
  readonly #zone: Zone
  readonly #limits: Limits

  constructor(calendar: Calendar, zone: Zone, limits: Limits) {
    this.#calendar = calendar
    this.#zone = zone
    this.#limits = limits
  }

  next(moment: number): number | null {
    const { first, last } = this.#limits
    let after = Math.max(moment, first - 1)
    while (after < last) {
      const span = this.#zone.spanAt(after + 1)
      const slot = this.#firstIn(span, after)
      if (slot !== null) return slot <= last ? slot : null
      // Later ones have a local time after this one: no clock is a day away from UTC.
      const time = this.#calendar.next(span.until - 1 - DAY)
      if (time === null) return null
      after = Math.max(span.until - 1, time - DAY - 1)
    }
    return null
  }

  previous(moment: number): number | null {
    const { first, last } = this.#limits
    let before = Math.min(moment, last + 1)
    while (before > first) {
      const span = this.#zone.spanAt(before - 1)
      const slot = this.#lastIn(span, before)
      if (slot !== null) return slot >= first ? slot : null
      const time = this.#calendar.previous(span.from + DAY)
      if (time === null) return null
      before = Math.min(span.from, time + DAY + 1)
    }
    return null
  }

  count(after: number, until: number): number {
    const end = Math.min(until, this.#limits.last) + 1
    let from = Math.max(after + 1, this.#limits.first)
    let count = 0
    while (from < end) {
      const span = this.#zone.spanAt(from)
      count += this.#countIn(span, from, Math.min(end, span.until))
      from = span.until
    }
    return count
  }

  /** Of the eight years from `first` on, wherever the zone's clock is put forward or back in them. */
  shortestGap(): number {
    const { first } = this.#limits
    let shortest = this.#calendar.shortestGap(first)
    for (const change of this.#zone.changes(first, first + LOOK_AHEAD)) {
      if (shortest <= MINUTE) break
      const settled = change.from + Math.abs(change.offset - change.before)
      let slot = this.previous(change.from) ?? this.next(change.from - 1)
      while (slot !== null && slot <= settled) {
        const next = this.next(slot)
        if (next !== null) shortest = Math.min(shortest, next - slot)
        slot = next
      }
    }
    return shortest
  }

  #firstIn(span: Span, after: number): number | null {
    let first: number | null = null
    for (const { from, until, offset } of this.#windowsOf(span)) {
      const time = this.#calendar.next(Math.max(from - 1, after + offset))
      if (time !== null && time < until && (first === null || time - offset < first)) first = time - offset
    }
    return first
  }

  #lastIn(span: Span, before: number): number | null {
    let last: number | null = null
    for (const { from, until, offset } of this.#windowsOf(span)) {
      const time = this.#calendar.previous(Math.min(until, before + offset))
      if (time !== null && time >= from && (last === null || time - offset > last)) last = time - offset
    }
    return last
  }

  /** Of the moments [from, until), which lie in the span. */
  #countIn(span: Span, from: number, until: number): number {
    const [shown, moved] = this.#windowsOf(span)
    let count = this.#calendar.count(
      Math.max(shown.from, from + shown.offset),
      Math.min(shown.until, until + shown.offset),
    )
    if (!moved) return count
    const end = Math.min(moved.until, until + moved.offset)
    let time = this.#calendar.next(Math.max(moved.from, from + moved.offset) - 1)
    while (time !== null && time < end) {
      // One that was moved onto another is one with it.
      if (!this.#calendar.names(time - moved.offset + shown.offset)) count++
      time = this.#calendar.next(time)
    }
    return count
  }

  /** The local times that the span shows, without those that were there before; and those that were left out at its start. */
  #windowsOf({ from, until, offset, before }: Span): [shown: Window] | [shown: Window, moved: Window] {
    const follows = this.#calendar.everyHour
    const shown = { from: from + (follows ? offset : Math.max(offset, before)), until: until + offset, offset }
    if (follows || before >= offset) return [shown]
    return [shown, { from: from + before, until: from + offset, offset: before }]
  }
}
