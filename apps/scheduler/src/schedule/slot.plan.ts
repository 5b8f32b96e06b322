import { cronLimits, type FireCause } from '#common/contract/cron.schema.js'
import type { CronRecord } from '../cron/cron.record.js'
import { jitterOf } from './jitter.js'
import { slotsOf } from './schedule.js'
import type { Slots } from './slots.js'

/** A slot that is fired within this time of its due moment (ms) is on time. */
export const PUNCTUAL = 30_000
const DAY = 86_400_000
/** What one call decides about at most (ms): counting the slots of a year takes some milliseconds. */
const pieceLength = 366 * DAY
/** Nothing that is older than this (ms) is fired: the largest window and the largest jitter. */
const oldest = (cronLimits.catchupWindow + cronLimits.jitter) * 1000

/** What a decision is made from. */
export type PlannedCron = Pick<
  CronRecord,
  | 'id'
  | 'schedule'
  | 'status'
  | 'missed'
  | 'catchup_window_s'
  | 'jitter_s'
  | 'start_at'
  | 'end_at'
  | 'anchor_at'
  | 'next_slot'
>

/** Slots in a row that are not fired, and why. */
export interface PlannedLine {
  readonly status: 'skipped' | 'missed' | 'coalesced'
  readonly cause: Extract<FireCause, 'paused' | 'policy' | 'window' | 'cap' | 'coalesced'>
  readonly slot: Date
  readonly last_slot: Date
  readonly slots: number
  /** When the first of them was due. */
  readonly due_at: Date
}

export interface PlannedFire {
  readonly slot: Date
  readonly due_at: Date
  readonly cause: 'late' | null
}

export interface SlotPlan {
  /** Both in the order of slots; what is fired comes after what is not. */
  readonly lines: readonly PlannedLine[]
  readonly fires: readonly PlannedFire[]
  /** The first slot that nothing is decided about; null when there is none any more. */
  readonly nextSlot: Date | null
  readonly nextDue: Date | null
  /** No slot is left. */
  readonly exhausted: boolean
  /** Slots are due still: plan again from `nextSlot`, at once. */
  readonly more: boolean
}

/** The slots of a cron. @throws SvcError timezone_unknown on a machine that does not know the zone. */
export const slotsOfCron = (cron: Pick<CronRecord, 'schedule' | 'anchor_at' | 'start_at' | 'end_at'>): Slots =>
  slotsOf(cron.schedule, {
    anchorAt: cron.anchor_at.getTime(),
    startAt: cron.start_at?.getTime() ?? null,
    endAt: cron.end_at?.getTime() ?? null,
  })

/** When a slot is to be fired (ms). */
export const dueOf = (cron: Pick<CronRecord, 'id' | 'jitter_s'>, slot: number): number =>
  slot + jitterOf(cron.id, slot, cron.jitter_s)

/**
 * Decides about all slots from `next_slot` on that are due at `now`, each of them once: `next_slot` only grows, also when the
 * clock goes back.
 *
 * A slot that is at most 30 seconds late is fired. Older ones were missed, and have what the policy says: `once` fires the
 * newest one of the window, unless one on time follows, which then stands for it as well. Slots in a row with the same fate
 * are one line. Of an outage of years each call decides about one year; what is left then is in nobody's window.
 *
 * @throws SvcError timezone_unknown on a machine that does not know the zone.
 */
export const planSlots = (cron: PlannedCron, now: number): SlotPlan => {
  const first = cron.next_slot?.getTime()
  return first === undefined ? { ...nothing, ...ahead(cron, null) } : new Planning(cron, first, now).plan()
}

type Decided = Pick<SlotPlan, 'lines' | 'fires'>

const nothing = { lines: [], fires: [], more: false }

const ahead = (cron: PlannedCron, next: number | null): Pick<SlotPlan, 'nextSlot' | 'nextDue' | 'exhausted'> => ({
  nextSlot: next === null ? null : new Date(next),
  nextDue: next === null ? null : new Date(dueOf(cron, next)),
  exhausted: next === null,
})

/** One decision. A row of slots is given by its first one and by where the next row begins. */
class Planning {
  readonly #cron: PlannedCron
  readonly #slots: Slots
  readonly #first: number
  readonly #now: number

  constructor(cron: PlannedCron, first: number, now: number) {
    this.#cron = cron
    this.#slots = slotsOfCron(cron)
    this.#first = first
    this.#now = now
  }

  plan(): SlotPlan {
    const more = this.#first + pieceLength < this.#now - oldest
    const next = more ? this.#slots.next(this.#first + pieceLength) : this.#firstDueFrom(this.#now + 1)
    // Where no slot is left, all of them lie before the next moment.
    const end = next ?? this.#now + 1
    const decided =
      this.#cron.status === 'active' ? this.#decide(end) : this.#line(this.#first, end, 'skipped', 'paused')
    return { ...decided, ...ahead(this.#cron, next), more: more && next !== null }
  }

  #decide(end: number): Decided {
    const { missed, catchup_window_s } = this.#cron
    const onTime = Math.min(end, this.#firstDueFrom(this.#now - PUNCTUAL) ?? end)
    const window = Math.min(onTime, this.#firstDueFrom(this.#now - catchup_window_s * 1000) ?? end)
    switch (missed) {
      case 'skip':
        return join(this.#line(this.#first, onTime, 'missed', 'policy'), this.#fires(onTime, end, null))
      case 'once': {
        const newest = onTime < end ? onTime : this.#back(onTime, window, 1)
        return join(
          this.#line(this.#first, window, 'missed', 'window'),
          this.#line(window, newest, 'coalesced', 'coalesced'),
          this.#fires(newest, onTime, 'late'),
          this.#fires(onTime, end, null),
        )
      }
      case 'all': {
        const caughtUp = this.#back(onTime, window, cronLimits.caughtUp)
        return join(
          this.#line(this.#first, window, 'missed', 'window'),
          this.#line(window, caughtUp, 'missed', 'cap'),
          this.#fires(caughtUp, onTime, 'late'),
          this.#fires(onTime, end, null),
        )
      }
    }
  }

  #line(from: number, until: number, status: PlannedLine['status'], cause: PlannedLine['cause']): Decided {
    if (from >= until) return nothing
    const line = {
      status,
      cause,
      slot: new Date(from),
      last_slot: new Date(Math.max(from, this.#slots.previous(until) ?? from)),
      slots: 1 + this.#slots.count(from, until - 1),
      due_at: new Date(dueOf(this.#cron, from)),
    }
    return { lines: [line], fires: [] }
  }

  #fires(from: number, until: number, cause: PlannedFire['cause']): Decided {
    const fires: PlannedFire[] = []
    for (let slot: number | null = from; slot !== null && slot < until; slot = this.#slots.next(slot))
      fires.push({ slot: new Date(slot), due_at: new Date(dueOf(this.#cron, slot)), cause })
    return { lines: [], fires }
  }

  /** The first slot that is due at `moment` or later: jitter never puts one behind the next. */
  #firstDueFrom(moment: number): number | null {
    const from = moment - this.#cron.jitter_s * 1000
    let slot = this.#first >= from ? this.#first : this.#slots.next(from - 1)
    while (slot !== null && dueOf(this.#cron, slot) < moment) slot = this.#slots.next(slot)
    return slot
  }

  /** The slot that is `steps` before `until`, or the first of those from `from` on. */
  #back(until: number, from: number, steps: number): number {
    let first = until
    for (let step = 0; step < steps && first > from; step++) first = Math.max(from, this.#slots.previous(first) ?? from)
    return first
  }
}

const join = (...parts: Decided[]): Decided => ({
  lines: parts.flatMap((part) => part.lines),
  fires: parts.flatMap((part) => part.fires),
})
