/** Rung any number of times, heard once. */
export class Bell {
  #rung = Promise.withResolvers<void>()

  /** Resolves once it was rung since the last `still`. */
  get heard(): Promise<void> {
    return this.#rung.promise
  }

  readonly ring = (): void => this.#rung.resolve()

  /** To be called before looking, so that what is rung meanwhile counts. */
  still(): void {
    this.#rung = Promise.withResolvers<void>()
  }
}
