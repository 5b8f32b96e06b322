import type { Reader, Tx } from '#common/kernel/database/tx.js'

/** How much an object, or a node, has to do with others. */
export interface Watched {
  readonly id: string
  /** Events that it has published. */
  readonly event_seq: number
  readonly watchers: number
}

/** Rows of objects.sources, as far as watches go: of each object, and of each node that was ever watched. */
export class WatchedRepository {
  /** Makes those that are not there. */
  make(tx: Tx, ids: readonly string[]): void {
    tx.send('INSERT INTO objects.sources (id) SELECT unnest($1::text[]) ON CONFLICT (id) DO NOTHING', [[...ids].sort()])
  }

  /** Until commit, before any other row; in the order of their ids, whatever the order asked for. Missing ones are left out. */
  lock(tx: Tx, ids: readonly string[]): Promise<Watched[]> {
    return tx.query<Watched>(
      'SELECT id, event_seq, watchers FROM objects.sources WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE',
      [ids],
    )
  }

  async of(reader: Reader, ids: readonly string[]): Promise<Map<string, Watched>> {
    const rows = await reader.query<Watched>(
      'SELECT id, event_seq, watchers FROM objects.sources WHERE id = ANY ($1::text[])',
      [ids],
    )
    return new Map(rows.map((row) => [row.id, row]))
  }

  /** One of these whose events are not with all who watch it yet. */
  async spreading(reader: Reader, ids: readonly string[]): Promise<string | undefined> {
    const [row] = await reader.query<{ source_id: string }>(
      'SELECT source_id FROM objects.fanouts WHERE source_id = ANY ($1::text[]) LIMIT 1',
      [ids],
    )
    return row?.source_id
  }

  /** Those of objects that were deleted while their events were on their way, and that are with all by now. */
  async forsaken(reader: Reader, limit: number): Promise<string[]> {
    const rows = await reader.query<{ id: string }>(
      `SELECT s.id FROM objects.objects o JOIN objects.sources s ON s.id = o.id
        WHERE o.deleted_at IS NOT NULL AND NOT EXISTS (SELECT FROM objects.fanouts f WHERE f.source_id = s.id) LIMIT $1`,
      [limit],
    )
    return rows.map(({ id }) => id)
  }

  /** Of sources that this transaction has locked. */
  addWatchers(tx: Tx, ids: readonly string[], change: number): void {
    if (ids.length === 0 || change === 0) return
    tx.send('UPDATE objects.sources SET watchers = watchers + $2 WHERE id = ANY ($1::text[])', [ids, change])
  }

  remove(tx: Tx, ids: readonly string[]): void {
    tx.send('DELETE FROM objects.sources WHERE id = ANY ($1::text[])', [ids])
  }
}
