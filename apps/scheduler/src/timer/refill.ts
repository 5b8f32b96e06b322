import type { Database } from '#common/kernel/database/database.js'
import type { Logger } from '#common/kernel/log.js'
import type { FireRepository } from '../fire/fire.repository.js'
import type { Timers } from './timers.js'

/** Timers that are set by one call to Redis. */
const chunk = 500
const start = { due: new Date(0), id: '' }

/**
 * Sets the timers of all schedules, those that are due first before others: at the start, when Redis was away, and when it
 * lost them. A timer that is set already stays.
 */
export class Refill {
  #running: Promise<number> | undefined
  #looking = false
  #stopped = false

  constructor(
    private readonly database: Database,
    private readonly fires: FireRepository,
    private readonly timers: Timers,
    private readonly log: Logger,
  ) {}

  /** Answers how many timers were set. One that is under way, which may have passed what is asked for, is waited for first. */
  async run(): Promise<number> {
    while (this.#running) await this.#running.catch(() => undefined)
    return this.#begin()
  }

  /** Sees whether Redis needs it, and begins without waiting for its end. Never rejects. */
  async look(): Promise<void> {
    if (this.#running || this.#looking || this.#stopped) return
    this.#looking = true
    try {
      // here and not at boot: the database need not be there then
      if (!this.timers.isOpen) this.timers.open(await this.fires.installation(this.database))
      if ((await this.timers.mustRefill()) && !this.#running) this.#begin().catch((err: unknown) => this.#failed(err))
    } catch (err) {
      this.#failed(err)
    } finally {
      this.#looking = false
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running?.catch(() => undefined)
  }

  #begin(): Promise<number> {
    this.#running = this.#fill().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  #failed(err: unknown): void {
    this.log.warn({ err }, 'timers could not be set; the sweep finds what is due')
  }

  async #fill(): Promise<number> {
    let count = 0
    const complete = await this.timers.refill(async () => {
      for (let after = start; ; ) {
        if (this.#stopped) return false
        const crons = await this.fires.armable(this.database, after, chunk)
        if (!(await this.timers.arm(crons))) return false
        count += crons.length
        const last = crons.at(-1)
        if (!last?.next_due || crons.length < chunk) return true
        after = { due: last.next_due, id: last.id }
      }
    })
    if (complete) this.log.info({ timers: count }, 'the timers of all schedules are set')
    return count
  }
}
