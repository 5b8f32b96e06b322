/** The moments that a schedule names, as milliseconds since the epoch, from its start to its end. */
export interface Slots {
  /** The first slot after `moment`. */
  next(moment: number): number | null
  /** The last slot before `moment`. */
  previous(moment: number): number | null
  /** How many lie in (after, until]; takes no longer where there are many. */
  count(after: number, until: number): number
  /** The least time from one to the next; infinite where there is one at most. */
  shortestGap(): number
}

/** The first and the last moment at which there may be a slot. */
export interface Limits {
  readonly first: number
  readonly last: number
}

/** One moment. */
export class SingleSlot implements Slots {
  readonly #slot: number | null

  constructor(slot: number, { first, last }: Limits) {
    this.#slot = slot >= first && slot <= last ? slot : null
  }

  next(moment: number): number | null {
    return this.#slot !== null && this.#slot > moment ? this.#slot : null
  }

  previous(moment: number): number | null {
    return this.#slot !== null && this.#slot < moment ? this.#slot : null
  }

  count(after: number, until: number): number {
    const slot = this.next(after)
    return slot !== null && slot <= until ? 1 : 0
  }

  shortestGap(): number {
    return Number.POSITIVE_INFINITY
  }
}

/** Slots at a fixed distance (ms), the first of them at `first`. */
export class EvenSlots implements Slots {
  readonly #gap: number
  readonly #limits: Limits

  constructor(gap: number, limits: Limits) {
    this.#gap = gap
    this.#limits = limits
  }

  next(moment: number): number | null {
    const { first, last } = this.#limits
    const slot = moment < first ? first : first + (Math.floor((moment - first) / this.#gap) + 1) * this.#gap
    return slot <= last ? slot : null
  }

  previous(moment: number): number | null {
    const { first, last } = this.#limits
    const before = Math.min(moment, last + 1)
    return before <= first ? null : first + (Math.ceil((before - first) / this.#gap) - 1) * this.#gap
  }

  count(after: number, until: number): number {
    return Math.max(0, this.#upTo(until) - this.#upTo(after))
  }

  shortestGap(): number {
    return this.#gap
  }

  #upTo(moment: number): number {
    const { first, last } = this.#limits
    return Math.max(0, Math.floor((Math.min(moment, last) - first) / this.#gap) + 1)
  }
}
