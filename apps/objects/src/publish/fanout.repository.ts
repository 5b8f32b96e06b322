import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { SpreadEvent } from './spread.repository.js'

/** Where the oldest events of a source have come to on their way to its watchers. */
export interface FanoutHead {
  readonly source_id: string
  readonly seq: number
  /** Watchers up to this id have them. */
  readonly after_watcher: string
}

const sql = {
  add: `INSERT INTO objects.fanouts (source_id, seq) SELECT * FROM unnest($1::text[], $2::bigint[])`,
  // source by source, so that many events of one that another process works at cost nothing
  claim: `WITH RECURSIVE heads AS (
      (SELECT source_id, seq FROM objects.fanouts WHERE source_id > $1 ORDER BY source_id, seq LIMIT 1)
      UNION ALL
      SELECT next.* FROM heads CROSS JOIN LATERAL (
        SELECT source_id, seq FROM objects.fanouts WHERE source_id > heads.source_id ORDER BY source_id, seq LIMIT 1
      ) AS next
    )
    SELECT f.* FROM heads CROSS JOIN LATERAL (
      SELECT * FROM objects.fanouts WHERE source_id = heads.source_id AND seq = heads.seq FOR UPDATE SKIP LOCKED
    ) AS f LIMIT 1`,
  events: `SELECT f.source_id, f.seq, e.event FROM objects.fanouts f
      LEFT JOIN objects.events e ON e.source_id = f.source_id AND e.seq = f.seq
    WHERE f.source_id = $1 AND f.seq >= $2 AND f.after_watcher = $3 ORDER BY f.seq LIMIT $4`,
  watchers: `SELECT watcher_id FROM objects.watches WHERE source_id = $1 AND watcher_id > $2 ORDER BY watcher_id LIMIT $3`,
  advance: `UPDATE objects.fanouts SET after_watcher = $3 WHERE source_id = $1 AND seq = ANY ($2::bigint[])`,
  remove: `DELETE FROM objects.fanouts WHERE source_id = $1 AND seq = ANY ($2::bigint[])`,
}

/** Rows of objects.fanouts: events that are not yet with all who watch their source. */
export class FanoutRepository {
  add(tx: Tx, events: readonly SpreadEvent[]): void {
    tx.send(sql.add, [events.map(({ source_id }) => source_id), events.map(({ seq }) => seq)])
  }

  /**
   * The oldest one of a source that nobody else works at, which is then this transaction's: whoever holds the oldest holds
   * them all.
   *
   * @param after sources behind this id alone
   */
  async claim(tx: Tx, after: string): Promise<FanoutHead | undefined> {
    const [head] = await tx.query<FanoutHead>(sql.claim, [after])
    return head
  }

  /** Those that have come as far as the oldest one, in their order; without a name where the event is gone. */
  together(
    reader: Reader,
    head: FanoutHead,
    limit: number,
  ): Promise<(Omit<SpreadEvent, 'event'> & { readonly event: string | null })[]> {
    return reader.query(sql.events, [head.source_id, head.seq, head.after_watcher, limit])
  }

  async watchersBehind(reader: Reader, head: FanoutHead, limit: number): Promise<string[]> {
    const rows = await reader.query<{ watcher_id: string }>(sql.watchers, [head.source_id, head.after_watcher, limit])
    return rows.map(({ watcher_id }) => watcher_id)
  }

  advance(tx: Tx, sourceId: string, seqs: readonly number[], afterWatcher: string): void {
    tx.send(sql.advance, [sourceId, seqs, afterWatcher])
  }

  remove(tx: Tx, sourceId: string, seqs: readonly number[]): void {
    tx.send(sql.remove, [sourceId, seqs])
  }
}
