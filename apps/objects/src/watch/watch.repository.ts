import { json } from '#common/kernel/database/column-types.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { WatchRecord } from './watch.record.js'
import type { WatchedRepository } from './watched.repository.js'

/** The two ends of a watch. */
export type WatchEnds = Pick<WatchRecord, 'source_id' | 'watcher_id'>

/** Where a page of watches begins: behind this one. */
export interface WatchPosition {
  readonly createdAt: Date
  readonly sourceId: string
  readonly watcherId: string
}

export interface WatchFilter {
  readonly watcherId: string | undefined
  readonly sourceId: string | undefined
  readonly before: WatchPosition | undefined
  readonly limit: number
}

/** Rows of objects.watches. Whoever adds or takes one away has locked the row of its source, which counts its watchers. */
export class WatchRepository {
  constructor(private readonly watched: WatchedRepository) {}

  /** All that one watches. */
  ofWatcher(reader: Reader, watcherId: string): Promise<WatchRecord[]> {
    return reader.query<WatchRecord>('SELECT * FROM objects.watches WHERE watcher_id = $1', [watcherId])
  }

  async countOfWatcher(reader: Reader, watcherId: string): Promise<number> {
    const [row] = await reader.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM objects.watches WHERE watcher_id = $1',
      [watcherId],
    )
    return row?.n ?? 0
  }

  /** Adds it, or replaces filter and tier of the one that is there, which counts as asked for at this moment. */
  async put(tx: Tx, row: WatchRecord): Promise<WatchRecord> {
    const [kept] = await tx.query<WatchRecord & { added: boolean }>(
      `INSERT INTO objects.watches (source_id, watcher_id, events, tier, created_by, created_at, asked_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (source_id, watcher_id) DO UPDATE
          SET events = excluded.events, tier = excluded.tier, asked_at = greatest(watches.asked_at, excluded.asked_at)
       RETURNING *, xmax = 0 AS added`,
      [row.source_id, row.watcher_id, row.events, row.tier, json(row.created_by), row.created_at, row.asked_at],
    )
    const { added, ...watch } = kept as WatchRecord & { added: boolean }
    if (added) this.watched.addWatchers(tx, [row.source_id], 1)
    return watch
  }

  /** Whether it was there. */
  async remove(tx: Tx, { source_id, watcher_id }: WatchEnds): Promise<boolean> {
    const removed = await tx.count('DELETE FROM objects.watches WHERE source_id = $1 AND watcher_id = $2', [
      source_id,
      watcher_id,
    ])
    if (removed > 0) this.watched.addWatchers(tx, [source_id], -1)
    return removed > 0
  }

  /** Ends all that one watches; answers how many. Their sources are locked. */
  async endOfWatcher(tx: Tx, watcherId: string): Promise<number> {
    const rows = await tx.query<{ source_id: string }>(
      'DELETE FROM objects.watches WHERE watcher_id = $1 RETURNING source_id',
      [watcherId],
    )
    this.watched.addWatchers(
      tx,
      rows.map(({ source_id }) => source_id),
      -1,
    )
    return rows.length
  }

  /** Ends all that watch a source; answers how many. The source is locked. */
  async endOfSource(tx: Tx, sourceId: string): Promise<number> {
    const removed = await tx.count('DELETE FROM objects.watches WHERE source_id = $1', [sourceId])
    this.watched.addWatchers(tx, [sourceId], -removed)
    return removed
  }

  /** The newest first. */
  page(reader: Reader, filter: WatchFilter): Promise<WatchRecord[]> {
    const values: unknown[] = [filter.limit]
    const put = (value: unknown): string => `$${values.push(value)}`
    const { before } = filter
    const conditions = [
      ...(filter.watcherId === undefined ? [] : [`watcher_id = ${put(filter.watcherId)}`]),
      ...(filter.sourceId === undefined ? [] : [`source_id = ${put(filter.sourceId)}`]),
      ...(before
        ? [
            `(created_at, source_id, watcher_id) < (${put(before.createdAt)}, ${put(before.sourceId)}, ${put(before.watcherId)})`,
          ]
        : []),
    ]
    return reader.query<WatchRecord>(
      `SELECT * FROM objects.watches WHERE ${['true', ...conditions].join(' AND ')}
        ORDER BY created_at DESC, source_id DESC, watcher_id DESC LIMIT $1`,
      values,
    )
  }
}
