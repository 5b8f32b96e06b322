import { Injectable } from '@nestjs/common'
import type { contract, InputOf } from '#common/contract/index.js'
import type { NodeStatus } from '#common/contract/node.schema.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { View } from '../canvas/canvas.repository.js'
import { type Horizon, within } from '../canvas/horizon.js'

export type ConcernSet = InputOf<(typeof contract)['lifecycle.concern.set']>

/** Something of another service that needs a person, with the node that it belongs to if that is there. */
export interface OpenConcern {
  readonly ref: string
  readonly name: string
  readonly since: Date
  readonly message: string
  readonly remedy: string
  readonly node_id: string | null
  readonly node_name: string | null
  readonly node_kind: string | null
  readonly status: NodeStatus | null
}

/** What of other services needs a person, by what it is about. What is over stays for a while, so that older word is known as such. */
@Injectable()
export class ConcernRepository {
  /** What was said of it last, locked until the transaction ends; version 0 when nothing was. */
  async lock(tx: Tx, ref: string, at: Date): Promise<{ readonly version: number; readonly open: boolean }> {
    tx.send(
      `INSERT INTO canvas.concerns (ref, version, open, updated_at) VALUES ($1, 0, false, $2) ON CONFLICT (ref) DO NOTHING`,
      [ref, at],
    )
    const [row] = await tx.query<{ version: number; open: boolean }>(
      'SELECT version, open FROM canvas.concerns WHERE ref = $1 FOR NO KEY UPDATE',
      [ref],
    )
    if (!row) throw new Error(`the concern ${ref} went while it was written`)
    return row
  }

  /** Writes one that this transaction has locked. */
  save(tx: Tx, { ref, version, concern }: ConcernSet, at: Date): void {
    tx.send(
      `UPDATE canvas.concerns SET version = $2, open = $3, node_id = $4, app_id = $5, profile = $6, name = $7, since = $8,
              message = $9, remedy = $10, updated_at = $11 WHERE ref = $1`,
      [
        ref,
        version,
        concern !== null,
        concern?.node_id ?? null,
        concern?.app_id ?? null,
        concern?.profile ?? null,
        concern?.name ?? null,
        concern?.since ?? null,
        concern?.message ?? null,
        concern?.remedy ?? null,
        at,
      ],
    )
  }

  /** Newest first. One of a node that was canceled or deleted needs nobody, though it may not have been taken back yet. */
  open(reader: Reader, { horizon, before, limit }: View): Promise<OpenConcern[]> {
    const values: unknown[] = []
    const put = (value: unknown): string => `$${values.push(value)}`
    const conditions = [
      stands,
      ...seen(horizon, put),
      ...(before ? [`(c.since, c.ref) < (${put(before.createdAt)}, ${put(before.id)})`] : []),
    ]
    return reader.query<OpenConcern>(
      `SELECT c.ref, c.name, c.since, c.message, c.remedy, c.node_id, n.name AS node_name, n.kind AS node_kind, n.status
         FROM canvas.concerns c LEFT JOIN canvas.nodes n ON n.id = c.node_id
        WHERE ${conditions.join(' AND ')} ORDER BY c.since DESC, c.ref DESC LIMIT ${put(limit)}`,
      values,
    )
  }

  /** Those of these nodes that the caller may see: how many each has. */
  async openCounts(reader: Reader, ids: readonly string[], horizon: Horizon): Promise<Map<string, number>> {
    const values: unknown[] = [ids]
    const put = (value: unknown): string => `$${values.push(value)}`
    const conditions = ['c.node_id = ANY ($1::text[])', stands, ...seen(horizon, put)]
    const rows = await reader.query<{ node_id: string; open: number }>(
      `SELECT c.node_id, count(*) AS open FROM canvas.concerns c JOIN canvas.nodes n ON n.id = c.node_id
        WHERE ${conditions.join(' AND ')} GROUP BY c.node_id`,
      values,
    )
    return new Map(rows.map((row) => [row.node_id, row.open]))
  }

  /** Deletes what was over before then, or whose node was gone; answers how many. */
  prune(tx: Tx, before: Date): Promise<number> {
    return tx.count(
      `DELETE FROM canvas.concerns c WHERE c.updated_at < $1 AND (NOT c.open
          OR (c.node_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM canvas.nodes n WHERE n.id = c.node_id)))`,
      [before],
    )
  }
}

/** Of c, with its node n. */
const stands = "c.open AND (c.node_id IS NULL OR n.status <> 'canceled')"

/** An app's own, of one profile where it is confined to that; else those of the nodes that may be seen. */
const seen = (horizon: Horizon, put: (value: unknown) => string): string[] =>
  horizon.appId === undefined ? within(horizon, put, 'n') : within(horizon, put, 'c')
