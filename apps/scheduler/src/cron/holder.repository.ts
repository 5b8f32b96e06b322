import type { Tx } from '#common/kernel/database/tx.js'

export const holderOfNode = (id: string): string => `node:${id}`
export const holderOfApp = (id: string): string => `app:${id}`

/** Rows of scheduler.holders: locks under which schedules are added, when nodes ended last, and who took their place. */
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

  /** As `end`, of a root that gave its place to another. */
  succeed(tx: Tx, from: string, to: string, at: Date): void {
    tx.send(
      `INSERT INTO scheduler.holders (id, ended_at, successor, succeeded_at) VALUES ($1, $3, $2, $3)
       ON CONFLICT (id) DO UPDATE SET ended_at = greatest(holders.ended_at, excluded.ended_at),
         successor = CASE WHEN holders.succeeded_at > excluded.succeeded_at THEN holders.successor ELSE excluded.successor END,
         succeeded_at = greatest(holders.succeeded_at, excluded.succeeded_at)`,
      [holderOfNode(from), to, at],
    )
  }

  /** A node, and those that took its place one after another at this moment or later, as far as that is known here. */
  async line(tx: Tx, nodeId: string, since: Date): Promise<string[]> {
    const rows = await tx.query<{ node_id: string }>(
      `WITH RECURSIVE line AS (
         SELECT $1::text AS node_id, 0 AS place
         UNION ALL
         SELECT h.successor, place + 1 FROM line JOIN scheduler.holders h ON h.id = 'node:' || line.node_id
          WHERE h.succeeded_at >= $2)
       SELECT node_id FROM line ORDER BY place`,
      [nodeId, since],
    )
    return rows.map(({ node_id }) => node_id)
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
