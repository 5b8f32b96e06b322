import type { Clock } from '#common/kernel/clock.js'
import type { Settings } from '#common/kernel/config.js'
import { systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Inbox } from '#common/kernel/database/inbox.js'
import type { TxContext, Writer } from '#common/kernel/database/writer.js'
import type { Logger } from '#common/kernel/log.js'
import type { ObjectRepository } from './object/object.repository.js'
import type { UnregisterService } from './object/unregister.service.js'
import type { Running } from './objects.lifetime.js'
import type { Front, RetentionRepository, Step } from './retention.repository.js'

const day = 86_400_000
/** Ms between two rounds, and before the first one. */
const everyMs = 3_600_000
const firstAfterMs = 60_000
/** Rows of one transaction. */
const batch = 500
/** Days for which a message of another service is remembered: far longer than it may go on sending it. */
const messageDays = 60
/** Days for which it is remembered under which keys events were accepted. */
const keyDays = 1
/** Days for which it is known which object bore a name that is free again. */
const tombstoneDays = 7

export interface Cleared {
  readonly deliveries: number
  readonly events: number
}

/**
 * Clears what is kept no longer, in small steps. Never what is not acknowledged, however old. Any number of replicas may do it
 * at once.
 */
export class Housekeeping implements Running {
  #callOff: () => void = () => undefined
  #over = new AbortController()
  #round: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly inbox: Inbox,
    private readonly objects: ObjectRepository,
    private readonly deletion: UnregisterService,
    private readonly retention: RetentionRepository,
    private readonly settings: Settings,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  start(after = firstAfterMs): void {
    this.#callOff = this.clock.after(after, () => {
      this.#round = this.round()
        .catch((err: unknown) => this.#failed(err))
        .finally(() => this.#over.signal.aborted || this.start(everyMs))
    })
  }

  async stop(): Promise<void> {
    this.#over.abort()
    this.#callOff()
    await this.#round
  }

  #failed(err: unknown): void {
    if (!this.#over.signal.aborted) this.log.warn({ err }, 'old deliveries could not be cleared; trying again later')
  }

  /** Answers how much of what is kept for its own sake went. */
  async round(): Promise<Cleared> {
    await this.writer.forgetExpiredKeys(this.#context())
    await this.#transact(({ tx }) => this.inbox.prune(tx, this.#ago(messageDays)))
    await this.#steps(({ tx }) => this.retention.keys(tx, this.#ago(keyDays), batch))
    await this.#steps((within) => this.deletion.finish(within, batch))
    await this.#steps(({ tx }) => this.objects.prune(tx, this.#ago(tombstoneDays), batch))
    for (const id of await this.retention.discarded(this.database))
      await this.#fromFront((after) =>
        this.#transact(({ tx }) => this.retention.leftover(tx, id, { after, limit: batch })),
      )
    const cleared = this.settings.SVC_KEEP_DELIVERIES_DAYS === 0 ? { deliveries: 0, events: 0 } : await this.#old()
    await this.#transact(async ({ tx }) => {
      const at = new Date(this.clock.now())
      this.retention.note(tx, 'object_deliveries', cleared.deliveries, at)
      this.retention.note(tx, 'object_events', cleared.events, at)
    })
    return cleared
  }

  /** Events after the deliveries for which they are kept. */
  async #old(): Promise<Cleared> {
    const before = this.#ago(this.settings.SVC_KEEP_DELIVERIES_DAYS)
    await this.#steps(({ tx }) => this.retention.refusals(tx, before, batch))
    const deliveries = await this.#fronts(
      (after) => this.retention.receivers(this.database, { after, before, limit: batch }),
      (id, after) => this.#transact(({ tx }) => this.retention.deliveries(tx, id, { after, before, limit: batch })),
    )
    const events = await this.#fronts(
      (after) => this.retention.sources(this.database, { after, before, limit: batch }),
      (id, after) => this.#transact(({ tx }) => this.retention.events(tx, id, { after, before, limit: batch })),
    )
    return { deliveries, events }
  }

  /** Of all that a page after page names, what is old. */
  async #fronts(
    page: (after: string) => Promise<Front[]>,
    step: (id: string, after: number) => Promise<Step>,
  ): Promise<number> {
    let removed = 0
    for (let after = '', more = true; more && !this.#over.signal.aborted; ) {
      const fronts = await page(after)
      for (const { id, old } of fronts) if (old) removed += await this.#fromFront((seq) => step(id, seq))
      more = fronts.length === batch
      after = fronts.at(-1)?.id ?? after
    }
    return removed
  }

  /** As many steps as it takes, each behind the one before. */
  async #fromFront(step: (after: number) => Promise<Step>): Promise<number> {
    let removed = 0
    for (let after = 0, more = true; more && !this.#over.signal.aborted; ) {
      const done = await step(after)
      removed += done.removed
      after = done.last ?? after
      more = done.more
    }
    return removed
  }

  /** As many transactions of at most a batch as it takes. */
  async #steps(work: (within: TxContext) => Promise<number>): Promise<void> {
    for (let last = batch; last === batch && !this.#over.signal.aborted; ) last = await this.#transact(work)
  }

  #transact<T>(work: (within: TxContext) => Promise<T>): Promise<T> {
    return this.writer.transact(this.#context(), work)
  }

  #context() {
    return systemContext('objects', this.#over.signal)
  }

  #ago(days: number): Date {
    return new Date(this.clock.now() - days * day)
  }
}
