import type { Reader, Tx } from '#common/kernel/database/tx.js'

/** One who watches a node since a time. */
export interface SourceWatch {
  readonly source_id: string
  readonly watcher_id: string
  readonly created_at: Date
}

/** How far the events of nodes have been read, and who is to hear of them. */
export class FollowRepository {
  /** Since when some node is watched; undefined while none is. */
  async watchedSince(reader: Reader): Promise<Date | undefined> {
    // in place of min(): planned while nodes have no watches, that reads all that they have later
    const [row] = await reader.query<{ since: Date }>(
      `SELECT created_at AS since FROM objects.watches WHERE starts_with(source_id, 'node_') ORDER BY created_at LIMIT 1`,
    )
    return row?.since
  }

  /** Null: nothing was read since some node is watched. */
  async position(reader: Reader): Promise<string | null> {
    const [row] = await reader.query<{ position: string | null }>('SELECT position FROM objects.follow WHERE id = 1')
    return row?.position ?? null
  }

  /** Whoever moves the position holds its lock: of two who have read the same events one writes them. */
  async lock(tx: Tx): Promise<string | null> {
    const [row] = await tx.query<{ position: string | null }>(
      'SELECT position FROM objects.follow WHERE id = 1 FOR UPDATE',
    )
    return row?.position ?? null
  }

  move(tx: Tx, position: string | null): void {
    tx.send('UPDATE objects.follow SET position = $1 WHERE id = 1', [position])
  }

  /** Those of these sources that are watched by somebody only since after a time. */
  async youngSources(tx: Tx, sourceIds: readonly string[], after: Date): Promise<Set<string>> {
    const rows = await tx.query<{ source_id: string }>(
      `SELECT given.id AS source_id FROM unnest($1::text[]) AS given (id)
        WHERE EXISTS (SELECT FROM objects.watches w WHERE w.source_id = given.id AND w.created_at > $2)`,
      [sourceIds, after],
    )
    return new Set(rows.map(({ source_id }) => source_id))
  }

  /** Who watches these sources, since when. */
  watches(tx: Tx, sourceIds: readonly string[]): Promise<SourceWatch[]> {
    return tx.query<SourceWatch>(
      'SELECT source_id, watcher_id, created_at FROM objects.watches WHERE source_id = ANY ($1::text[])',
      [sourceIds],
    )
  }
}
