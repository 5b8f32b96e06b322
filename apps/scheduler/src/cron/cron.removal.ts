import type { Clock } from '#common/kernel/clock.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { cleared, isRaised } from '../relay/concerns.js'
import type { Timers } from '../timer/timers.js'
import type { CronRecord } from './cron.record.js'
import type { CronRepository } from './cron.repository.js'
import type { HistoryRepository } from './history.repository.js'

/** The end of schedules, whoever wants it: what they have begun goes on, and their history stays. */
export class CronRemoval {
  constructor(
    private readonly crons: CronRepository,
    private readonly history: HistoryRepository,
    private readonly timers: Timers,
    private readonly clock: Clock,
  ) {}

  /** Of at most so many that have been over since before then, with nothing left of their history. Answers how many. */
  async prune(tx: Tx, before: Date, limit: number): Promise<number> {
    const rows = await this.crons.lockForgotten(tx, before, limit)
    this.remove(tx, rows)
    return rows.length
  }

  /** Of those that are over and more than are kept of a node and of an application, which this transaction has locked. */
  async clear(tx: Tx, of: Pick<CronRecord, 'owner_node_id' | 'app_id'>): Promise<void> {
    this.remove(tx, await this.crons.lockSurplus(tx, of))
  }

  /** Of rows that this transaction has locked. */
  remove(tx: Tx, rows: readonly CronRecord[]): void {
    if (rows.length === 0) return
    const ids = rows.map(({ id }) => id)
    this.history.drop(tx, ids, new Date(this.clock.now()))
    for (const { id, version } of rows.filter(isRaised)) tx.deliver(cleared({ id, version: version + 1 }))
    this.crons.remove(tx, ids)
    tx.afterCommit(() => this.timers.disarm(rows))
  }
}
