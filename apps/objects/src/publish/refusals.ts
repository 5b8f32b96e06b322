import type { Clock } from '#common/kernel/clock.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Logger } from '#common/kernel/log.js'
import type { Running } from '../objects.lifetime.js'
import type { FullWatcher } from './acceptance.repository.js'
import type { CountedRefusal, RefusalRepository } from './refusal.repository.js'

/** Ms between two writes: however often somebody tries, the database hears of it once. */
const writeEvery = 1000
/** Publications under a key that this process remembers: whoever tries again does so soon. */
const remembered = 10_000

/** Counts publications that were refused since a receiver was full, for the ledger. */
export class Refusals implements Running {
  #counted = new Map<string, CountedRefusal>()
  /** The last ones under a key, each with its receiver. */
  readonly #seen = new Set<string>()
  #resting = false
  #writing: Promise<void> | undefined
  #callOff: () => void = () => undefined

  constructor(
    private readonly database: Database,
    private readonly rows: RefusalRepository,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  start(): void {}

  async stop(): Promise<void> {
    this.#callOff()
    await this.#writing
    await this.#write()
  }

  /**
   * One publication was refused for these.
   *
   * @param key its idempotency key: however often it is tried under that, it counts once
   */
  count(receivers: readonly FullWatcher[], key?: string): void {
    const at = this.clock.now()
    for (const { source_id, receiver_id } of receivers) {
      const name = `${source_id} ${receiver_id}`
      const added = key === undefined || this.#isFirst(`${name} ${key}`) ? 1 : 0
      const { count, first } = this.#counted.get(name) ?? { count: 0, first: at }
      this.#counted.set(name, { source_id, receiver_id, count: count + added, first, last: at })
    }
    this.#begin()
  }

  #isFirst(publication: string): boolean {
    if (this.#seen.has(publication)) return false
    this.#seen.add(publication)
    for (const oldest of this.#seen) {
      if (this.#seen.size <= remembered) break
      this.#seen.delete(oldest)
    }
    return true
  }

  /** The first is written at once, what comes after it together a while later. */
  #begin(): void {
    if (this.#resting || this.#counted.size === 0) return
    this.#resting = true
    this.#writing = this.#write()
    this.#callOff = this.clock.after(writeEvery, () => {
      this.#resting = false
      this.#begin()
    })
  }

  async #write(): Promise<void> {
    const counted = [...this.#counted.values()]
    this.#counted = new Map()
    if (counted.length === 0) return
    try {
      await this.rows.add(this.database, counted)
    } catch (err) {
      this.log.warn({ err, pairs: counted.length }, 'refused publications could not be counted')
    }
  }
}
