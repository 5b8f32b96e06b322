/** What one caller acknowledges at the moment. */
interface Asked {
  readonly seqs: readonly number[]
  readonly settled: PromiseWithResolvers<number>
}

/** Deliveries of one transaction: what one request may carry always fits in. */
const most = 4000

/**
 * Acknowledgements of one receiver. Its row lets one transaction through at a time: those that come while one is under way share
 * the next, so that a consumer which acknowledges one by one, many at a time, waits for few commits.
 */
export class AckGathering {
  readonly #waiting: Asked[] = []
  #working = false

  constructor(
    /** Acknowledges in one transaction; answers which of them were not acknowledged before. */
    private readonly commit: (seqs: readonly number[]) => Promise<readonly number[]>,
    private readonly onIdle: () => void,
  ) {}

  /** Answers how many of these were not acknowledged before. */
  add(seqs: readonly number[]): Promise<number> {
    const settled = Promise.withResolvers<number>()
    this.#waiting.push({ seqs, settled })
    if (!this.#working) void this.#work()
    return settled.promise
  }

  async #work(): Promise<void> {
    this.#working = true
    while (this.#waiting.length > 0) await this.#commit(this.#take())
    this.#working = false
    this.onIdle()
  }

  #take(): Asked[] {
    let count = 0
    const end = this.#waiting.findIndex(({ seqs }, at) => {
      count += seqs.length
      return at > 0 && count > most
    })
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end)
  }

  async #commit(asked: readonly Asked[]): Promise<void> {
    try {
      const fresh = new Set(await this.commit([...new Set(asked.flatMap(({ seqs }) => seqs))]))
      // what two callers name counts for the first of them
      for (const { seqs, settled } of asked) settled.resolve(seqs.filter((seq) => fresh.delete(seq)).length)
    } catch (error) {
      for (const { settled } of asked) settled.reject(error)
    }
  }
}
