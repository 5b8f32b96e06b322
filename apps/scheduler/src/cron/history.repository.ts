import type { FireStatus } from '#common/contract/cron.schema.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { ledgerOf } from '../fire/fire.ledger.js'
import { fireMachine } from '../fire/fire.machine.js'
import type { FireRecord } from '../fire/fire.record.js'

const queued: { readonly status: FireStatus } = { status: 'queued' }
const dropped = { ...fireMachine.apply(queued, 'cancel'), cause: 'cron_ended', attempts: 0 } as const

/** Rows of scheduler.fires as the history of schedules. */
export class HistoryRepository {
  /** Lines of one schedule before a slot, the newest first. */
  page(
    reader: Reader,
    cronId: string,
    { before, limit }: { before: Date | undefined; limit: number },
  ): Promise<FireRecord[]> {
    return reader.query<FireRecord>(
      `SELECT * FROM scheduler.fires WHERE cron_id = $1 ${before ? 'AND slot < $3' : ''} ORDER BY slot DESC LIMIT $2`,
      before ? [cronId, limit, before] : [cronId, limit],
    )
  }

  /** The newest slot that was fired, of each of these that had one. */
  async last(reader: Reader, cronIds: readonly string[]): Promise<Map<string, FireRecord>> {
    if (cronIds.length === 0) return new Map()
    const rows = await reader.query<FireRecord>(
      `SELECT f.* FROM unnest($1::text[]) AS c(id), LATERAL (
         SELECT * FROM scheduler.fires WHERE cron_id = c.id AND fired_at IS NOT NULL ORDER BY slot DESC LIMIT 1) f`,
      [cronIds],
    )
    return new Map(rows.map((row) => [row.cron_id, row]))
  }

  /** What of these schedules waits for the work of the firing before is begun no more. */
  drop(tx: Tx, cronIds: readonly string[], at: Date): void {
    tx.send(
      `UPDATE scheduler.fires SET status = $2, cause = $3, ledger = $4, ended_at = $5, noted_at = $5
        WHERE cron_id = ANY ($1::text[]) AND status = 'queued'`,
      [cronIds, dropped.status, dropped.cause, ledgerOf(dropped), at],
    )
  }

  /** Deletes lines that nothing happened to since then, but those that are still open; answers how many. */
  prune(tx: Tx, before: Date, limit: number): Promise<number> {
    return tx.count(
      `DELETE FROM scheduler.fires WHERE (cron_id, slot) IN (
         SELECT cron_id, slot FROM scheduler.fires
          WHERE noted_at < $1 AND status NOT IN ('queued', 'starting', 'running') ORDER BY noted_at LIMIT $2)`,
      [before, limit],
    )
  }
}
