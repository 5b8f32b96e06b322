import type { Reader } from '#common/kernel/database/tx.js'

export interface Counts {
  readonly objects: number
  readonly paused: number
  readonly dead: number
}

/** What of the deliveries waits. */
export class StatusRepository {
  async counts(reader: Reader): Promise<Counts> {
    const [row] = await reader.query<Counts>(
      `SELECT (SELECT count(*) FROM objects.objects WHERE deleted_at IS NULL) AS objects,
              (SELECT count(*) FROM objects.receivers WHERE paused_at IS NOT NULL AND reason <> 'asked') AS paused,
              (SELECT count(*) FROM objects.failures WHERE state = 'dead') AS dead`,
    )
    return row as Counts
  }

  /** Names of receivers that take no more, some of them; a node is shown by its id. */
  async full(reader: Reader, limit: number): Promise<string[]> {
    const rows = await reader.query<{ name: string }>(
      `SELECT coalesce(o.name, f.receiver_id) AS name
         FROM (SELECT * FROM objects.full_receivers ORDER BY receiver_id LIMIT $1) f
         LEFT JOIN objects.objects o ON o.id = f.receiver_id ORDER BY f.receiver_id`,
      [limit],
    )
    return rows.map(({ name }) => name)
  }
}
