import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { WatchedRepository } from '../watch/watched.repository.js'

/**
 * A span of time that is open to the left: watches that were asked for by then, whenever they were made. One that was asked for
 * again since is meant for the node as it is now.
 */
type By = Date

/** Watches of nodes, as far as the end of a node, or who takes its place, changes them. Their sources are locked. */
export class NodeWatchRepository {
  constructor(private readonly watched: WatchedRepository) {}

  /** What a node watches. */
  async sourcesOf(reader: Reader, nodeId: string): Promise<string[]> {
    const rows = await reader.query<{ source_id: string }>(
      'SELECT source_id FROM objects.watches WHERE watcher_id = $1 ORDER BY source_id',
      [nodeId],
    )
    return rows.map(({ source_id }) => source_id)
  }

  /** Ends what a node watches since then at the latest; answers how many. */
  async endOf(tx: Tx, nodeId: string, by: By): Promise<number> {
    const rows = await tx.query<{ source_id: string }>(
      'DELETE FROM objects.watches WHERE watcher_id = $1 AND asked_at <= $2 RETURNING source_id',
      [nodeId, by],
    )
    const sources = rows.map(({ source_id }) => source_id)
    this.watched.addWatchers(tx, sources, -1)
    return sources.length
  }

  /** Ends the watches on a node that were asked for by then; answers how many. */
  async endOn(tx: Tx, nodeId: string, by: By): Promise<number> {
    const ended = await tx.count('DELETE FROM objects.watches WHERE source_id = $1 AND asked_at <= $2', [nodeId, by])
    this.watched.addWatchers(tx, [nodeId], -ended)
    return ended
  }

  /** Whether a node watches anything. */
  async watches(reader: Reader, nodeId: string): Promise<boolean> {
    const [row] = await reader.query<{ found: boolean }>(
      'SELECT EXISTS (SELECT FROM objects.watches WHERE watcher_id = $1) AS found',
      [nodeId],
    )
    return row?.found === true
  }

  /**
   * What one node watched, another watches, but not itself; what both did, that one watches as it did. Of a watch that goes the
   * source is told to have one watcher less. Answers how many have moved.
   */
  async moveWatcher(tx: Tx, from: string, to: string, by: By): Promise<number> {
    const moved = await tx.count(
      `UPDATE objects.watches w SET watcher_id = $2 WHERE watcher_id = $1 AND source_id <> $2 AND asked_at <= $3
         AND NOT EXISTS (SELECT FROM objects.watches o WHERE o.source_id = w.source_id AND o.watcher_id = $2)`,
      [from, to, by],
    )
    await this.endOf(tx, from, by)
    return moved
  }

  /**
   * Who watched one node watches another, but for that one itself; whoever watched both, watches that one as before. Answers how
   * many have moved.
   */
  async moveSource(tx: Tx, from: string, to: string, by: By): Promise<number> {
    const moved = await tx.count(
      `UPDATE objects.watches w SET source_id = $2 WHERE source_id = $1 AND watcher_id <> $2 AND asked_at <= $3
         AND NOT EXISTS (SELECT FROM objects.watches o WHERE o.source_id = $2 AND o.watcher_id = w.watcher_id)`,
      [from, to, by],
    )
    this.watched.addWatchers(tx, [from], -moved)
    this.watched.addWatchers(tx, [to], moved)
    await this.endOn(tx, from, by)
    return moved
  }
}
