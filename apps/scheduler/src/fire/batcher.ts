import { isSvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'

/**
 * Collects what comes in while a batch is under way into the next one: alone an item waits for nothing, in a burst many
 * share one transaction.
 */
export class Batcher<T> {
  readonly #waiting = new Map<string, T>()
  #running: Promise<void> | undefined
  #closed = false

  constructor(
    private readonly settings: {
      /** Names an item: of several with one name that wait, the last counts. */
      readonly keyOf: (item: T) => string
      /** Items of one batch at most. */
      readonly size: number
      readonly run: (items: T[]) => Promise<void>
      /** Said in the log when a batch fails, whose items are then left to whoever looks at the rows. */
      readonly failure: string
      readonly log: Logger
    },
  ) {}

  add(items: readonly T[]): void {
    if (this.#closed) return
    for (const item of items) this.#waiting.set(this.settings.keyOf(item), item)
    this.#running ??= this.#work()
  }

  /** Resolves when all that was added before is through. */
  async settled(): Promise<void> {
    await this.#running
  }

  /** Takes no more, and resolves when all that waits is through. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running
  }

  async #work(): Promise<void> {
    const { size } = this.settings
    // what comes within the same turn of the loop shares the first batch
    await Promise.resolve()
    while (this.#waiting.size > 0) {
      const keys = [...this.#waiting.keys()].slice(0, size)
      const items = keys.map((key) => this.#waiting.get(key) as T)
      for (const key of keys) this.#waiting.delete(key)
      await this.#run(items)
    }
    this.#running = undefined
  }

  /** What fails for what it holds is tried in halves: one item that can't be written stops none but itself. */
  async #run(items: T[]): Promise<void> {
    const { run, failure, log } = this.settings
    try {
      await run(items)
    } catch (err) {
      if (items.length === 1 || mayPass(err)) {
        log.warn({ err, items: items.length }, failure)
        return
      }
      const half = Math.ceil(items.length / 2)
      await this.#run(items.slice(0, half))
      await this.#run(items.slice(half))
    }
  }
}

/** Whether it failed for the moment, as all of it would now: a database that is away, or busy. */
const mayPass = (err: unknown): boolean => isSvcError(err) && err.facts.retryable
