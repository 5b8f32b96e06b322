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

  /** Which of these schedules have a firing under way, or on its way. */
  async begun(reader: Reader, cronIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (cronIds.length === 0) return new Set()
    const rows = await reader.query<{ cron_id: string }>(
      `SELECT DISTINCT cron_id FROM scheduler.fires
        WHERE cron_id = ANY ($1::text[]) AND status IN ('starting', 'running')`,
      [cronIds],
    )
    return new Set(rows.map(({ cron_id }) => cron_id))
  }

  /** What of these schedules waits for the work of the firing before is begun no more. */
  drop(tx: Tx, cronIds: readonly string[], at: Date): void {
    tx.send(
      `UPDATE scheduler.fires SET status = $2, cause = $3, ledger = $4, ended_at = $5, noted_at = $5
        WHERE cron_id = ANY ($1::text[]) AND status = 'queued'`,
      [cronIds, dropped.status, dropped.cause, ledgerOf(dropped), at],
    )
  }

  /**
   * Lines that somebody may still read by whose they are stand under another node: those of the ledger up to then, also of
   * schedules that are gone, and all of the ledger or still open of these schedules.
   */
  moveTo(tx: Tx, { from, to, at, cronIds }: { from: string; to: string; at: Date; cronIds: readonly string[] }): void {
    const moved = `SET owner_path = array_replace(owner_path, $1::text, $2::text),
      owner_node_id = CASE owner_node_id WHEN $1 THEN $2 ELSE owner_node_id END`
    tx.send(
      `UPDATE scheduler.fires ${moved}
        WHERE owner_path @> ARRAY[$1]::text[] AND ledger IS NOT NULL AND (slot <= $3 OR cron_id = ANY ($4::text[]))`,
      [from, to, at, cronIds],
    )
    tx.send(
      `UPDATE scheduler.fires ${moved}
        WHERE cron_id = ANY ($3::text[]) AND status IN ('queued', 'starting', 'running')`,
      [from, to, cronIds],
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
