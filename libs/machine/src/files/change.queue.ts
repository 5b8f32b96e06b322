/** Changes of one thing happen one after another, in the order in which they were asked for; of different things at once. */
export class ChangeQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<T>(key: string, change: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const done = (before ?? Promise.resolve()).then(change)
    // Whoever comes next waits for the end of this one, not for its success.
    const ended = done.catch(() => undefined)
    this.#last.set(key, ended)
    try {
      return await done
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key)
    }
  }
}
