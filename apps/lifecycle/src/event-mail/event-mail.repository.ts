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
