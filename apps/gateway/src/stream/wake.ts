/** Something to look at: said any number of times, seen once. */
export class Wake {
  #said = Promise.withResolvers<void>()

  /** Resolves once it was said since the last `clear`. */
  get woken(): Promise<void> {
    return this.#said.promise
  }

  now(): void {
    this.#said.resolve()
  }

  /** To be called before looking, so that what is said meanwhile counts. */
  clear(): void {
    this.#said = Promise.withResolvers<void>()
  }
}
