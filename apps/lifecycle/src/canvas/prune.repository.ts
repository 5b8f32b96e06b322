import { Injectable } from '@nestjs/common'
import type { NodeStatus } from '#common/contract/node.schema.js'
import type { Position } from '#common/kernel/database/cursor.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

/** Which ended nodes may go. */
export interface Old {
  readonly statuses: readonly string[]
  readonly before: Date
}

export interface Prunable {
  readonly id: string
  readonly name: string
  readonly status: NodeStatus
  readonly created_at: Date
  readonly updated_at: Date
  readonly turn: number
  readonly version: number
  readonly events: number
  readonly entries: number
}

/** Of n, with $1 statuses and $2 time: nothing of its own keeps it. A place on the disk or a process outlives no record. */
const spent = `n.status = ANY ($1::text[]) AND n.status IN ('done', 'dead', 'canceled') AND n.updated_at < $2
  AND n.broker_state IS NULL
  AND (n.worktree IS NULL OR n.worktree ->> 'state' IN ('closed', 'abandoned'))
  AND NOT EXISTS (SELECT 1 FROM canvas.jobs b WHERE b.node_id = n.id AND b.status = 'running')
  AND NOT EXISTS (SELECT 1 FROM canvas.human_requests q WHERE q.node_id = n.id AND q.status = 'pending')
  AND NOT EXISTS (SELECT 1 FROM canvas.subscriptions s JOIN canvas.nodes watcher ON watcher.id = s.subscriber
                   WHERE s.publisher = n.id AND watcher.status IN ('active', 'idle'))`

const columns = `n.id, n.name, n.status, n.created_at, n.updated_at, n.turn, n.version, c.event_seq AS events, c.journal_ord AS entries`

/** Deletes nodes, leaves first, so that what is above one that stays is never touched. */
@Injectable()
export class PruneRepository {
  /** All that would go: spent nodes that have no node below them which stays. */
  preview(
    tx: Tx,
    old: Old,
  ): Promise<{ status: NodeStatus; nodes: number; events: number; turns: number; entries: number }[]> {
    // of many rows with many: asking for each of them would take minutes
    tx.send('SET LOCAL enable_hashjoin = on')
    return tx.query(
      `WITH RECURSIVE ${staying} SELECT n.status, count(*) AS nodes, sum(n.turn) AS turns, sum(c.event_seq) AS events,
              sum(c.journal_ord) AS entries FROM ${going} GROUP BY n.status`,
      [old.statuses, old.before],
    )
  }

  sample(tx: Tx, old: Old, limit: number): Promise<Prunable[]> {
    tx.send('SET LOCAL enable_hashjoin = on')
    return tx.query<Prunable>(
      `WITH RECURSIVE ${staying} SELECT ${columns} FROM ${going} ORDER BY n.created_at DESC, n.id DESC LIMIT $3`,
      [old.statuses, old.before, limit],
    )
  }

  /** Spent nodes, the newest first: those below come before those above them. */
  spent(
    reader: Reader,
    old: Old,
    after: Position | undefined,
    limit: number,
  ): Promise<{ id: string; depth: number; created_at: Date }[]> {
    const values: unknown[] = [old.statuses, old.before, limit]
    if (after) values.push(after.createdAt, after.id)
    return reader.query(
      `SELECT n.id, n.depth, n.created_at FROM canvas.nodes n WHERE ${spent} AND n.created_at < $2
        ${after ? 'AND (n.created_at, n.id) < ($4, $5)' : ''} ORDER BY n.created_at DESC, n.id DESC LIMIT $3`,
      values,
    )
  }

  /** Deletes those of the nodes that are spent still and have nothing below them, with all their rows. */
  async remove(tx: Tx, old: Old, ids: readonly string[]): Promise<Prunable[]> {
    // nobody can give them a child, a mail or a subscriber from here on
    await tx.query('SELECT 1 FROM canvas.nodes WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE', [ids])
    const rows = await tx.query<Prunable>(
      `SELECT ${columns} FROM canvas.nodes n JOIN canvas.counters c ON c.node_id = n.id
        WHERE ${spent} AND n.id = ANY ($3::text[])
          AND NOT EXISTS (SELECT 1 FROM canvas.nodes child WHERE child.parent_id = n.id)
          AND NOT EXISTS (SELECT 1 FROM canvas.nodes other WHERE other.root_id = n.id AND other.id <> n.id)`,
      [old.statuses, old.before, ids],
    )
    if (rows.length > 0) tx.send('DELETE FROM canvas.nodes WHERE id = ANY ($1::text[])', [rows.map(({ id }) => id)])
    return rows
  }

  /** About how many bytes one event and one journal entry take, with all that hangs on them. */
  async rowBytes(reader: Reader): Promise<{ event: number; entry: number; node: number }> {
    const rows = await reader.query<{ name: string; bytes: number }>(
      `SELECT c.relname AS name, pg_total_relation_size(c.oid) / greatest(c.reltuples, 1)::float8 AS bytes
         FROM pg_class c WHERE c.relnamespace = 'canvas'::regnamespace AND c.relkind = 'r' AND c.reltuples >= 0`,
    )
    const of = (name: string): number => rows.find((row) => row.name === name)?.bytes ?? 0
    return {
      event: of('events'),
      entry: of('journal') + of('passages'),
      node: of('nodes') + of('counters') + of('mail'),
    }
  }
}

/** Nodes that stay for one below them. */
const staying = `
  staying AS (
    SELECT n.parent_id AS id FROM canvas.nodes n WHERE n.parent_id IS NOT NULL AND NOT coalesce(${spent}, false)
    UNION SELECT n.parent_id FROM staying JOIN canvas.nodes n ON n.id = staying.id WHERE n.parent_id IS NOT NULL)`

const going = `canvas.nodes n JOIN canvas.counters c ON c.node_id = n.id
  WHERE ${spent} AND NOT EXISTS (SELECT 1 FROM staying WHERE staying.id = n.id)`
