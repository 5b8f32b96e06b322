/** How long (ms) who controls may be silent before somebody else may take over. */
export const controlLease = 15_000

/** Who of those at the socket speaks for the owner: one at a time, for as long as it is heard. */
export class ViewerControl<Who> {
  #holder: Who | undefined
  #heardAt = 0

  /** @param now monotonic ms */
  constructor(private readonly now: () => number) {}

  /** Who controls now; one that fell silent does not any more. */
  get holder(): Who | undefined {
    return this.#holder !== undefined && this.now() - this.#heardAt < controlLease ? this.#holder : undefined
  }

  /** Whether it controls from now on, or did already. */
  take(who: Who): boolean {
    const { holder } = this
    if (holder !== undefined && holder !== who) return false
    this.#holder = who
    this.#heardAt = this.now()
    return true
  }

  /** It was heard; whether it controls. */
  hear(who: Who): boolean {
    if (this.holder !== who) return false
    this.#heardAt = this.now()
    return true
  }

  /** It lets go, or is gone; whether it controlled. */
  leave(who: Who): boolean {
    const held = this.holder === who
    if (this.#holder === who) this.#holder = undefined
    return held
  }
}
