import { Injectable } from '@nestjs/common'
import type { Fault } from '#common/contract/node.schema.js'
import type { FaultEpisode } from '#common/contract/node-wait.operations.js'
import type { Position } from '#common/kernel/database/cursor.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { NodeRecord } from '../node/node.record.js'

interface FaultRow {
  readonly ord: number
  readonly kind: Fault['kind']
  readonly message: string
  readonly engagement: number
  readonly turn: number
  readonly tries: number
  readonly since: Date
  readonly last_at: Date
  readonly ended_at: Date | null
}

export type ListedFault = FaultEpisode & { readonly ord: number }

const toEpisode = (row: FaultRow): ListedFault => ({
  ...row,
  since: row.since.toISOString(),
  last_at: row.last_at.toISOString(),
  ended_at: row.ended_at?.toISOString() ?? null,
})

const isSame = (one: Fault | null, other: Fault): boolean => one?.kind === other.kind && one.since === other.since

/** What faults a node has had, an episode a row; at most one of a node is open, and it is the fault in its own row. */
@Injectable()
export class FaultRepository {
  /** Keeps the history with a node's fault. The node is locked, and `next` is written to it by the same transaction. */
  follow(tx: Tx, before: NodeRecord, next: Fault | null, at: Date): void {
    if (next && isSame(before.fault, next)) {
      this.goOn(tx, before.id, next)
      return
    }
    if (before.fault) {
      tx.send('UPDATE canvas.faults SET ended_at = $2 WHERE node_id = $1 AND ended_at IS NULL', [before.id, at])
    }
    if (!next) return
    tx.send(
      `INSERT INTO canvas.faults (node_id, engagement, turn, kind, message, tries, since, last_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [before.id, before.engagement, before.turn, next.kind, next.message, next.tries ?? 1, next.since, lastOf(next)],
    )
  }

  private goOn(tx: Tx, nodeId: string, fault: Fault): void {
    tx.send('UPDATE canvas.faults SET message = $2, tries = $3, last_at = $4 WHERE node_id = $1 AND ended_at IS NULL', [
      nodeId,
      fault.message,
      fault.tries ?? 1,
      lastOf(fault),
    ])
  }

  /** Newest first. */
  async page(reader: Reader, nodeId: string, before: Position | undefined, limit: number): Promise<ListedFault[]> {
    const rows = await reader.query<FaultRow>(
      `SELECT ord, kind, message, engagement, turn, tries, since, last_at, ended_at FROM canvas.faults
        WHERE node_id = $1 AND ord < $2 ORDER BY ord DESC LIMIT $3`,
      [nodeId, before ? before.id : Number.MAX_SAFE_INTEGER, limit],
    )
    return rows.map(toEpisode)
  }
}

const lastOf = ({ last_at, since }: Fault): string => last_at ?? since
