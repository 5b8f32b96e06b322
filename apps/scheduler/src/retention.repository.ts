import type { Tx } from '#common/kernel/database/tx.js'

/** What was cleared when, as lifecycle shows it beside its own. */
export class RetentionRepository {
  note(tx: Tx, name: string, removed: number, at: Date): void {
    tx.send(
      `INSERT INTO scheduler.retention AS kept (class, last_run_at, removed, removed_total) VALUES ($1, $2, $3, $3)
       ON CONFLICT (class) DO UPDATE SET last_run_at = excluded.last_run_at, removed = excluded.removed,
         removed_total = kept.removed_total + excluded.removed`,
      [name, at, removed],
    )
  }
}
