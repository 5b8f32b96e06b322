import type { Clock } from '#common/kernel/clock.js'
import type { Settings } from '#common/kernel/config.js'
import { systemContext } from '#common/kernel/context.js'
import type { Inbox } from '#common/kernel/database/inbox.js'
import type { TxContext, Writer } from '#common/kernel/database/writer.js'
import type { Logger } from '#common/kernel/log.js'
import type { CronRemoval } from './cron/cron.removal.js'
import type { HistoryRepository } from './cron/history.repository.js'
import type { HolderRepository } from './cron/holder.repository.js'
import type { RetentionRepository } from './retention.repository.js'

const day = 86_400_000
/** Ms between two rounds, and before the first one. */
const everyMs = 3_600_000
const firstAfterMs = 60_000
/** Rows of one transaction. */
const batch = 500
/** Days for which a delivery is remembered: far longer than another service may go on sending it. */
const deliveryDays = 60
/** Days for which it is remembered that a node has ended: longer than adding a schedule to it may have been under way. */
const endDays = 1

/** Clears what is kept no longer, in small steps. Any number of replicas may do it at once. */
export class Housekeeping {
  #callOff: () => void = () => undefined
  #over = new AbortController()

  constructor(
    private readonly writer: Writer,
    private readonly inbox: Inbox,
    private readonly history: HistoryRepository,
    private readonly removal: CronRemoval,
    private readonly holders: HolderRepository,
    private readonly retention: RetentionRepository,
    private readonly settings: Settings,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  start(after = firstAfterMs): void {
    this.#callOff = this.clock.after(after, () => {
      this.round()
        .catch((err: unknown) => this.log.warn({ err }, 'old lines could not be cleared; trying again later'))
        .finally(() => this.#over.signal.aborted || this.start(everyMs))
    })
  }

  stop(): void {
    this.#over.abort()
    this.#callOff()
  }

  /** Answers how many lines of the history went. */
  async round(): Promise<number> {
    await this.writer.forgetExpiredKeys(systemContext('scheduler', this.#over.signal))
    await this.#transact(({ tx }) => this.inbox.prune(tx, this.#ago(deliveryDays)))
    await this.#steps(({ tx }) => this.holders.prune(tx, this.#ago(endDays), batch))
    const firings = await this.#old(({ tx }, before) => this.history.prune(tx, before, batch))
    // after their lines, the last of which they wait for
    const schedules = await this.#old(({ tx }, before) => this.removal.prune(tx, before, batch))
    await this.#transact(async ({ tx }) => {
      const at = new Date(this.clock.now())
      this.retention.note(tx, 'firings', firings, at)
      this.retention.note(tx, 'schedules', schedules, at)
    })
    return firings
  }

  /** What is older than it is kept; nothing where it is kept for ever. */
  async #old(work: (within: TxContext, before: Date) => Promise<number>): Promise<number> {
    const { SVC_KEEP_FIRES_DAYS: days } = this.settings
    return days === 0 ? 0 : this.#steps((within) => work(within, this.#ago(days)))
  }

  /** As many transactions of at most a batch as it takes. */
  async #steps(work: (within: TxContext) => Promise<number>): Promise<number> {
    let removed = 0
    for (let last = batch; last === batch && !this.#over.signal.aborted; ) {
      last = await this.#transact(work)
      removed += last
    }
    return removed
  }

  #transact<T>(work: (within: TxContext) => Promise<T>): Promise<T> {
    return this.writer.transact(systemContext('scheduler', this.#over.signal), work)
  }

  #ago(days: number): Date {
    return new Date(this.clock.now() - days * day)
  }
}
