import { Injectable } from '@nestjs/common'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

export interface FocusRecord {
  readonly pane: string
  readonly node_id: string
  readonly viewer: string | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly expires_at: Date
}

/** Rows of canvas.focuses. */
@Injectable()
export class FocusRepository {
  all(reader: Reader, now: Date): Promise<FocusRecord[]> {
    return reader.query('SELECT * FROM canvas.focuses WHERE expires_at > $1 ORDER BY updated_at DESC, pane', [now])
  }

  ofNode(reader: Reader, now: Date, nodeId: string): Promise<FocusRecord[]> {
    return reader.query(
      'SELECT * FROM canvas.focuses WHERE expires_at > $1 AND node_id = $2 ORDER BY updated_at DESC, pane',
      [now, nodeId],
    )
  }

  /** Other panes than this one. */
  async others(tx: Tx, pane: string): Promise<number> {
    const [row] = await tx.query<{ panes: number }>('SELECT count(*) AS panes FROM canvas.focuses WHERE pane <> $1', [
      pane,
    ])
    return row?.panes ?? 0
  }

  async save(tx: Tx, given: Omit<FocusRecord, 'created_at'>): Promise<FocusRecord> {
    const rows = await tx.query<FocusRecord>(
      `INSERT INTO canvas.focuses (pane, node_id, viewer, created_at, updated_at, expires_at)
       VALUES ($1, $2, $3, $4, $4, $5)
       ON CONFLICT (pane) DO UPDATE SET node_id = $2, viewer = $3, updated_at = $4, expires_at = $5 RETURNING *`,
      [given.pane, given.node_id, given.viewer, given.updated_at, given.expires_at],
    )
    return rows[0] as FocusRecord
  }

  remove(tx: Tx, pane: string): void {
    tx.send('DELETE FROM canvas.focuses WHERE pane = $1', [pane])
  }

  removeExpired(tx: Tx, now: Date): void {
    tx.send('DELETE FROM canvas.focuses WHERE expires_at <= $1', [now])
  }
}
