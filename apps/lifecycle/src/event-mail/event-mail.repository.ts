import { Injectable } from '@nestjs/common'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

/** Of whose deliveries these are, in the inbox. */
const source = 'objects'

/** Which deliveries of events have become mail. */
@Injectable()
export class EventMailRepository {
  /** Those of the deliveries that have become mail already. */
  async taken(reader: Reader, ids: readonly string[]): Promise<Set<string>> {
    const rows = await reader.query<{ id: string }>(
      'SELECT source_event AS id FROM canvas.inbox WHERE source = $1 AND source_event = ANY ($2::text[])',
      [source, [...ids]],
    )
    return new Set(rows.map(({ id }) => id))
  }

  /** Unless one of them was taken before, which fails the transaction: whoever asks holds the lock of its node. */
  take(tx: Tx, ids: readonly string[]): void {
    tx.send('INSERT INTO canvas.inbox (source, source_event) SELECT $1, unnest($2::text[])', [source, [...ids]])
  }

  /** The last in the line of roots that took the place of each of these nodes; of most it is the node itself. */
  async heirs(reader: Reader, nodeIds: readonly string[]): Promise<Map<string, string>> {
    const rows = await reader.query<{ of: string; id: string }>(
      `WITH RECURSIVE line AS (
         SELECT id AS of, id, 0 AS far FROM unnest($1::text[]) AS given (id)
         UNION ALL
         SELECT l.of, n.id, l.far + 1 FROM line l JOIN canvas.nodes n ON n.succeeds = l.id AND n.succession = 'taken_over'
       ) SELECT DISTINCT ON (of) of, id FROM line ORDER BY of, far DESC`,
      [[...nodeIds]],
    )
    return new Map(rows.map(({ of, id }) => [of, id]))
  }

  /** Names of those of the nodes that are there. */
  async names(reader: Reader, nodeIds: readonly string[]): Promise<Map<string, string>> {
    if (nodeIds.length === 0) return new Map()
    const rows = await reader.query<{ id: string; name: string }>(
      'SELECT id, name FROM canvas.nodes WHERE id = ANY ($1::text[])',
      [[...nodeIds]],
    )
    return new Map(rows.map(({ id, name }) => [id, name]))
  }

  /** Unread mail of each of the nodes. */
  async unread(reader: Reader, nodeIds: readonly string[]): Promise<Map<string, number>> {
    const rows = await reader.query<{ node_id: string; unread: number }>(
      `SELECT node_id, count(*) AS unread FROM canvas.mail
        WHERE node_id = ANY ($1::text[]) AND acknowledged_at IS NULL GROUP BY node_id`,
      [[...nodeIds]],
    )
    return new Map(rows.map(({ node_id, unread }) => [node_id, unread]))
  }
}
