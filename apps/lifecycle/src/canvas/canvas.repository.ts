import { Injectable } from '@nestjs/common'
import type { CanvasEdge } from '#common/contract/canvas.schema.js'
import type { Fault, NodeStatus } from '#common/contract/node.schema.js'
import type { Position } from '#common/kernel/database/cursor.js'
import type { Reader } from '#common/kernel/database/tx.js'
import type { NodeRecord } from '../node/node.record.js'
import { activeAt, faulty, hangs, type Since } from './hanging.query.js'
import { type Horizon, within } from './horizon.js'

export type RosterRow = Pick<
  NodeRecord,
  | 'id'
  | 'name'
  | 'kind'
  | 'mode'
  | 'lifecycle'
  | 'status'
  | 'intent'
  | 'parent_id'
  | 'root_id'
  | 'depth'
  | 'engine'
  | 'model'
  | 'fault'
  | 'context_tokens'
  | 'cost_usd'
  | 'created_at'
  | 'updated_at'
> & { readonly journal_at: Date | null; readonly children: number }

export interface AttentionRow {
  readonly id: string
  readonly name: string
  readonly kind: string
  readonly status: NodeStatus
  readonly fault: Fault | null
  readonly hangs: 'active' | 'idle' | null
  readonly created_at: Date
  readonly active_at: Date
}

export interface View {
  readonly horizon: Horizon
  readonly before?: Position | undefined
  readonly limit: number
}

const rosterColumns = `n.id, n.name, n.kind, n.mode, n.lifecycle, n.status, n.intent, n.parent_id, n.root_id, n.depth,
  n.engine, n.model, n.fault, n.context_tokens, n.cost_usd, n.created_at, n.updated_at,
  (SELECT j.created_at FROM canvas.journal j WHERE j.node_id = n.id ORDER BY j.ord DESC LIMIT 1) AS journal_at,
  (SELECT count(*) FROM canvas.nodes c WHERE c.parent_id = n.id) AS children`

/** The words of the index of the few nodes that may need somebody. */
const mayNeedSomebody = `(n.fault IS NOT NULL OR n.status = 'active' OR (n.status = 'idle' AND n.lifecycle = 'terminal'))`

/** The canvas as screens show it; reads only. */
@Injectable()
export class CanvasRepository {
  roster(reader: Reader, { horizon, before, limit }: View, live: boolean): Promise<RosterRow[]> {
    const values: unknown[] = []
    const put = (value: unknown): string => `$${values.push(value)}`
    const conditions = [
      ...within(horizon, put, 'n'),
      ...(live ? ["n.status IN ('active', 'idle')"] : []),
      ...(before ? [`(n.created_at, n.id) < (${put(before.createdAt)}, ${put(before.id)})`] : []),
    ]
    return reader.query<RosterRow>(
      `SELECT ${rosterColumns} FROM canvas.nodes n ${where(conditions)}
        ORDER BY n.created_at DESC, n.id DESC LIMIT ${put(limit)}`,
      values,
    )
  }

  async statusCounts(reader: Reader, horizon: Horizon): Promise<Record<string, number>> {
    const values: unknown[] = []
    const put = (value: unknown): string => `$${values.push(value)}`
    const rows = await reader.query<{ status: string; nodes: number }>(
      `SELECT n.status, count(*) AS nodes FROM canvas.nodes n ${where(within(horizon, put, 'n'))} GROUP BY n.status`,
      values,
    )
    return Object.fromEntries(rows.map(({ status, nodes }) => [status, nodes]))
  }

  /** Edges that lead to these nodes, from nodes that the caller may see. */
  async edges(reader: Reader, to: readonly string[], horizon: Horizon): Promise<CanvasEdge[]> {
    const values: unknown[] = [to]
    const put = (value: unknown): string => `$${values.push(value)}`
    const seen = within(horizon, put, 'other')
    const [spine, subscriptions] = await Promise.all([
      reader.query<{ from: string; to: string }>(
        `SELECT other.id AS from, n.id AS to FROM canvas.nodes n JOIN canvas.nodes other ON other.id = n.parent_id
          ${where(['n.id = ANY ($1::text[])', ...seen])}`,
        values,
      ),
      reader.query<{ from: string; to: string; mode: 'active' | 'passive' }>(
        `SELECT s.subscriber AS from, s.publisher AS to, s.mode FROM canvas.subscriptions s
           JOIN canvas.nodes other ON other.id = s.subscriber ${where(['s.publisher = ANY ($1::text[])', ...seen])}`,
        values,
      ),
    ])
    return [
      ...spine.map((edge) => ({ type: 'spine' as const, ...edge, mode: null })),
      ...subscriptions.map((edge) => ({ type: 'subscription' as const, ...edge })),
    ]
  }

  /** Nodes with a fault, or that hang, newest first. */
  attention(reader: Reader, { horizon, before, limit }: View, since: Since): Promise<AttentionRow[]> {
    const values: unknown[] = [since.stuck, since.resting]
    const put = (value: unknown): string => `$${values.push(value)}`
    const conditions = [
      mayNeedSomebody,
      ...within(horizon, put, 'n'),
      ...(before ? [`(n.created_at, n.id) < (${put(before.createdAt)}, ${put(before.id)})`] : []),
    ]
    return reader.query<AttentionRow>(
      `SELECT * FROM (
         SELECT n.id, n.name, n.kind, n.status, n.created_at, ${activeAt} AS active_at,
                CASE WHEN ${faulty} THEN n.fault END AS fault, ${hangs('$1', '$2')} AS hangs
           FROM canvas.nodes n ${where(conditions)}) found
        WHERE fault IS NOT NULL OR hangs IS NOT NULL
        ORDER BY created_at DESC, id DESC LIMIT ${put(limit)}`,
      values,
    )
  }

  /** The same, of these nodes alone, as far as the caller may see them. */
  attentionOf(reader: Reader, ids: readonly string[], horizon: Horizon, since: Since): Promise<AttentionRow[]> {
    const values: unknown[] = [since.stuck, since.resting, ids]
    const put = (value: unknown): string => `$${values.push(value)}`
    return reader.query<AttentionRow>(
      `SELECT n.id, n.name, n.kind, n.status, n.created_at, ${activeAt} AS active_at,
              CASE WHEN ${faulty} THEN n.fault END AS fault, ${hangs('$1', '$2')} AS hangs
         FROM canvas.nodes n ${where(['n.id = ANY ($3::text[])', ...within(horizon, put, 'n')])}`,
      values,
    )
  }
}

const where = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
