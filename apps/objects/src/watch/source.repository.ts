import type { Reader, Tx } from '#common/kernel/database/tx.js'

/** A row of objects.sources. */
export interface SourceRecord {
  readonly id: string
  readonly event_seq: number
  readonly watchers: number
}

/** Rows of objects.sources: of each object, and of each node that was ever watched. Locked before any other row. */
export class SourceRepository {
  /** Makes those that are not there. */
  make(tx: Tx, ids: readonly string[]): void {
    tx.send('INSERT INTO objects.sources (id) SELECT unnest($1::text[]) ON CONFLICT (id) DO NOTHING', [[...ids].sort()])
  }

  /** Until commit, in the order of their ids, whatever the order asked for; missing ones are left out. */
  lock(tx: Tx, ids: readonly string[]): Promise<SourceRecord[]> {
    return tx.query<SourceRecord>(
      'SELECT * FROM objects.sources WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE',
      [ids],
    )
  }

  async of(reader: Reader, ids: readonly string[]): Promise<Map<string, SourceRecord>> {
    const rows = await reader.query<SourceRecord>('SELECT * FROM objects.sources WHERE id = ANY ($1::text[])', [ids])
    return new Map(rows.map((row) => [row.id, row]))
  }

  /** Of sources that this transaction has locked. */
  addWatchers(tx: Tx, ids: readonly string[], change: number): void {
    if (ids.length === 0) return
    tx.send('UPDATE objects.sources SET watchers = watchers + $2 WHERE id = ANY ($1::text[])', [ids, change])
  }

  remove(tx: Tx, ids: readonly string[]): void {
    tx.send('DELETE FROM objects.sources WHERE id = ANY ($1::text[])', [ids])
  }
}
