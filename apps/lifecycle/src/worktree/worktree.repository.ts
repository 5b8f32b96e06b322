import { Injectable } from '@nestjs/common'
import type { NodeStatus } from '#common/contract/node.schema.js'
import type { Reader } from '#common/kernel/database/tx.js'
import type { WorktreeRecord } from './worktree.record.js'

/** A node that works inside a tree. */
export interface Occupant {
  readonly id: string
  readonly status: NodeStatus
  readonly generation: number
  readonly jobs: number
}

/** What concerns the worktrees of nodes in canvas.nodes. */
@Injectable()
export class WorktreeRepository {
  /** Nodes whose worktree is on its way. */
  async moving(reader: Reader): Promise<string[]> {
    const rows = await reader.query<{ id: string }>(
      `SELECT id FROM canvas.nodes WHERE worktree ->> 'state' IN ('creating', 'closing', 'abandoning') ORDER BY id`,
    )
    return rows.map(({ id }) => id)
  }

  /** All nodes that work in a tree or below it, with the number of their running jobs. */
  occupants(reader: Reader, path: string): Promise<Occupant[]> {
    return reader.query<Occupant>(
      `SELECT n.id, n.status, n.generation,
              (SELECT count(*) FROM canvas.jobs j WHERE j.node_id = n.id AND j.status = 'running') AS jobs
         FROM canvas.nodes n WHERE n.cwd = $1 OR starts_with(n.cwd, $1 || '/') ORDER BY n.id`,
      [path],
    )
  }

  async of(reader: Reader, nodeId: string): Promise<WorktreeRecord | null> {
    const [row] = await reader.query<{ worktree: WorktreeRecord | null }>(
      'SELECT worktree FROM canvas.nodes WHERE id = $1',
      [nodeId],
    )
    return row?.worktree ?? null
  }
}
