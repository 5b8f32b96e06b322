import type { Tx } from '#common/kernel/database/tx.js'

export const holderOfNode = (id: string): string => `node:${id}`
export const holderOfApp = (id: string): string => `app:${id}`

/** Rows of scheduler.holders: locks under which schedules are added, and when nodes ended last. */
export class HolderRepository {
  /** Locked in one order, until the end of the transaction; answers those that ended at this moment or later. */
  async lock(tx: Tx, ids: readonly string[], since: Date): Promise<string[]> {
    // one statement: between two of them the row of an end long ago may be pruned, and nothing would be locked
    const rows = await tx.query<{ id: string; ended_at: Date | null }>(
      `INSERT INTO scheduler.holders (id) SELECT unnest($1::text[])
       ON CONFLICT (id) DO UPDATE SET ended_at = holders.ended_at RETURNING id, ended_at`,
      [[...ids].sort()],
    )
    return rows.filter(({ ended_at }) => ended_at !== null && ended_at >= since).map(({ id }) => id)
  }

  /** Whoever was about to add something to it before its end is through, or waits for this transaction and is refused. */
  end(tx: Tx, id: string, at: Date): void {
    tx.send(
      `INSERT INTO scheduler.holders (id, ended_at) VALUES ($1, $2)
       ON CONFLICT (id) DO UPDATE SET ended_at = greatest(holders.ended_at, excluded.ended_at)`,
      [id, at],
    )
  }

  /** Forgets ends before then, since when nothing is under way any more. Answers how many. */
  prune(tx: Tx, before: Date, limit: number): Promise<number> {
    return tx.count(
      `DELETE FROM scheduler.holders WHERE id IN (
         SELECT id FROM scheduler.holders WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)`,
      [before, limit],
    )
  }
}
