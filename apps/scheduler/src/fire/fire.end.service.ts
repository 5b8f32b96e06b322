import type { Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { TxContext, Writer } from '#common/kernel/database/writer.js'
import type { Logger } from '#common/kernel/log.js'
import type { CronRecord } from '../cron/cron.record.js'
import type { CronRemoval } from '../cron/cron.removal.js'
import type { CronRepository } from '../cron/cron.repository.js'
import { cleared, isRaised, raised } from '../relay/concerns.js'
import { Batcher } from './batcher.js'
import { type Consequences, consequencesOf, ended, type FireEnd, isEndOf, isSpent } from './fire.outcome.js'
import { type FireRecord, workKeyOf } from './fire.record.js'
import { type FireRepository, nothingOpen, type OpenFires } from './fire.repository.js'
import type { Starter } from './starter.js'

/** Ends that share one transaction at most. */
const batch = 100

/** What one transaction knows of a schedule. */
interface Scene {
  readonly cron: CronRecord
  /** Its firings that end now, as they are afterwards. */
  readonly lines: readonly FireRecord[]
  /** What was open before. */
  readonly open: OpenFires
  readonly oldest: FireRecord | undefined
  /** The newest of its slots that was fired, as it is afterwards. */
  readonly newest: FireRecord | undefined
}

const byCron = (rows: readonly FireRecord[]): Map<string, FireRecord[]> => Map.groupBy(rows, ({ cron_id }) => cron_id)

/**
 * Ends firings, with all that follows for their schedules: failures in a row are counted and pause it, the next that waits
 * begins, a schedule without any slot left is over. One transaction, so that a process that dies has done all or nothing;
 * whoever follows the work finds its end again.
 */
export class FireEnds {
  readonly #batcher: Batcher<FireEnd>

  constructor(
    private readonly writer: Writer,
    private readonly fires: FireRepository,
    private readonly crons: CronRepository,
    private readonly removal: CronRemoval,
    private readonly starter: Starter,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    this.#batcher = new Batcher<FireEnd>({
      keyOf: workKeyOf,
      size: batch,
      run: (ends) => this.#transact(ends, []),
      failure: 'ends of firings could not be recorded yet',
      log,
    })
  }

  /** Records ends soon. One of a line that has ended already, or that another tries by now, changes nothing. */
  end(...ends: FireEnd[]): void {
    this.#batcher.add(ends)
  }

  /** Looks at schedules once more without an end: whether the next that waits can begin. */
  review(cronIds: readonly string[]): Promise<void> {
    return this.#transact([], cronIds)
  }

  close(): Promise<void> {
    return this.#batcher.close()
  }

  #transact(ends: readonly FireEnd[], others: readonly string[]): Promise<void> {
    const ids = [...new Set([...ends.map(({ cron_id }) => cron_id), ...others])]
    return this.writer.transact(systemContext('scheduler'), async (ctx) => {
      const { tx } = ctx
      const now = new Date(this.clock.now())
      // in one go: what is read was read when the rows were locked
      const [crons, found, counts, oldest] = await Promise.all([
        this.fires.lockCrons(tx, ids),
        this.fires.openRows(tx, ends),
        this.fires.openOf(tx, ids),
        this.fires.oldestQueued(tx, ids),
      ])
      const endOf = new Map(ends.map((end) => [workKeyOf(end), end]))
      const lines = found.flatMap((fire) => {
        const end = endOf.get(workKeyOf(fire))
        return end && isEndOf(end, fire) ? [ended(fire, end, now)] : []
      })
      this.fires.update(tx, lines)
      const linesOf = byCron(lines)
      const openOf = new Map(counts.map((open) => [open.cron_id, open]))
      const oldestOf = new Map(oldest.map((fire) => [fire.cron_id, fire]))
      const newestOf = await this.fires.newestFiredOf(tx, crons.filter(isSpent))
      for (const cron of crons) {
        const { id } = cron
        const [open, newest] = [openOf.get(id) ?? nothingOpen(id), newestOf.get(id)]
        this.#follow(ctx, { cron, lines: linesOf.get(id) ?? [], open, oldest: oldestOf.get(id), newest }, now)
      }
    })
  }

  #follow({ tx }: TxContext, { cron, lines, open, oldest, newest }: Scene, now: Date): void {
    const what = consequencesOf(cron, lines, open, newest)
    if (what.done) {
      this.removal.remove(tx, [cron])
      return
    }
    if (what.drop) this.fires.dropQueued(tx, [cron.id], now)
    if (what.release && oldest) this.starter.release(tx, cron, oldest, now)
    this.#change(tx, cron, what, lines.at(-1), now)
  }

  #change(
    tx: TxContext['tx'],
    cron: CronRecord,
    { changes }: Consequences,
    last: FireRecord | undefined,
    now: Date,
  ): void {
    if (!changes) return
    const changed = this.crons.save(tx, cron, changes, now)
    if (changed.pause_reason === 'failures' && cron.pause_reason === null) {
      this.log.warn(
        { cron: cron.id, failures: changed.consecutive_failures },
        'a schedule was paused after its failures',
      )
      tx.deliver(raised(changed, last ?? { error: null }, now))
    } else if (isRaised(cron) && !isRaised(changed)) tx.deliver(cleared(changed))
  }
}
