import { Injectable } from '@nestjs/common'
import { careLimits } from '#common/contract/node-care.schema.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

/** A version of a node's roadmap. */
export interface RoadmapRecord {
  readonly node_id: string
  readonly version: number
  readonly text: string
  readonly updated_at: Date
  readonly updated_by: string
}

/** Rows of canvas.roadmaps. Whoever writes one has locked its node first. */
@Injectable()
export class RoadmapRepository {
  /** The one that holds. */
  async find(reader: Reader, nodeId: string): Promise<RoadmapRecord | undefined> {
    const [row] = await reader.query<RoadmapRecord>(
      'SELECT * FROM canvas.roadmaps WHERE node_id = $1 ORDER BY version DESC LIMIT 1',
      [nodeId],
    )
    return row
  }

  async at(reader: Reader, nodeId: string, version: number): Promise<RoadmapRecord | undefined> {
    const [row] = await reader.query<RoadmapRecord>(
      'SELECT * FROM canvas.roadmaps WHERE node_id = $1 AND version = $2',
      [nodeId, version],
    )
    return row
  }

  /** Gives a new node, which has none, the roadmap of another as its first version, if that has one. */
  copy(tx: Tx, from: string, to: string, at: Date): void {
    tx.send(
      `INSERT INTO canvas.roadmaps (node_id, version, text, updated_at, updated_by)
       SELECT $2, 1, text, $3, updated_by FROM canvas.roadmaps WHERE node_id = $1 ORDER BY version DESC LIMIT 1
       ON CONFLICT (node_id, version) DO NOTHING`,
      [from, to, at],
    )
  }

  /** Adds a version, and lets go of those that are too old. */
  write(tx: Tx, row: RoadmapRecord): void {
    tx.send(
      'INSERT INTO canvas.roadmaps (node_id, version, text, updated_at, updated_by) VALUES ($1, $2, $3, $4, $5)',
      [row.node_id, row.version, row.text, row.updated_at, row.updated_by],
    )
    const oldest = row.version - careLimits.roadmapRevisions
    if (oldest > 0) {
      tx.send('DELETE FROM canvas.roadmaps WHERE node_id = $1 AND version <= $2', [row.node_id, oldest])
    }
  }
}
