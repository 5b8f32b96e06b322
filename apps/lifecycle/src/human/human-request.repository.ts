import { Injectable } from '@nestjs/common'
import type { HumanRequestStatus } from '#common/contract/human.schema.js'
import type { NodeStatus } from '#common/contract/node.schema.js'
import { appPrincipal } from '#common/kernel/context.js'
import { json } from '#common/kernel/database/column-types.js'
import type { Position } from '#common/kernel/database/cursor.js'
import { setLocked } from '#common/kernel/database/rows.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import { type Horizon, within } from '../canvas/horizon.js'
import type { HumanRequestRecord } from './human-request.record.js'

const jsonColumns = new Set(['pages', 'default_response', 'response', 'asked_by', 'resolved_by'])
const columnValue = (name: string, value: unknown): unknown => (jsonColumns.has(name) ? json(value) : value)

/** An open request with what is known of its node. */
export interface Ticket {
  readonly id: string
  readonly title: string
  readonly deadline: Date | null
  readonly has_default: boolean
  readonly created_at: Date
  readonly node_id: string | null
  readonly node_name: string | null
  readonly node_kind: string | null
  readonly status: NodeStatus | null
}

/** Rows of canvas.human_requests. Whoever changes one has locked its node first, where it has one, and then the row. */
@Injectable()
export class HumanRequestRepository {
  async find(reader: Reader, id: string): Promise<HumanRequestRecord | undefined> {
    const [row] = await reader.query<HumanRequestRecord>('SELECT * FROM canvas.human_requests WHERE id = $1', [id])
    return row
  }

  /** @throws SvcError not_found */
  async get(reader: Reader, id: string): Promise<HumanRequestRecord> {
    return (await this.find(reader, id)) ?? missingRequest(id)
  }

  /** @throws SvcError not_found */
  async lock(tx: Tx, id: string): Promise<HumanRequestRecord> {
    const [row] = await tx.query<HumanRequestRecord>(
      'SELECT * FROM canvas.human_requests WHERE id = $1 FOR NO KEY UPDATE',
      [id],
    )
    return row ?? missingRequest(id)
  }

  /** Answers false when its asker has an open request of the same key. */
  async insert(tx: Tx, row: HumanRequestRecord): Promise<boolean> {
    const names = Object.keys(row)
    const inserted = await tx.count(
      `INSERT INTO canvas.human_requests (${names.join(', ')}) VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})
       ON CONFLICT (principal, dedupe_key) WHERE status = 'pending' AND dedupe_key IS NOT NULL DO NOTHING`,
      names.map((name) => columnValue(name, row[name as keyof HumanRequestRecord])),
    )
    return inserted === 1
  }

  /** The open request of this asker under this key. */
  async same(tx: Tx, principal: string, key: string): Promise<HumanRequestRecord | undefined> {
    const [row] = await tx.query<HumanRequestRecord>(
      "SELECT * FROM canvas.human_requests WHERE principal = $1 AND dedupe_key = $2 AND status = 'pending'",
      [principal, key],
    )
    return row
  }

  /** Writes the changes of a row that this transaction has locked. */
  save(tx: Tx, before: HumanRequestRecord, changes: Partial<HumanRequestRecord>, at: Date): HumanRequestRecord {
    const patch = Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, columnValue(name, value)]))
    setLocked(tx, 'canvas.human_requests', before, { ...patch, updated_at: at })
    return { ...before, ...changes, version: before.version + 1, updated_at: at }
  }

  async openCount(reader: Reader, principal: string): Promise<number> {
    const [row] = await reader.query<{ open: number }>(
      "SELECT count(*) AS open FROM canvas.human_requests WHERE principal = $1 AND status = 'pending'",
      [principal],
    )
    return row?.open ?? 0
  }

  /** Open requests of these nodes, locked in id order. */
  lockOpenOf(tx: Tx, nodeIds: readonly string[]): Promise<HumanRequestRecord[]> {
    return tx.query<HumanRequestRecord>(
      `SELECT * FROM canvas.human_requests WHERE node_id = ANY ($1::text[]) AND status = 'pending'
        ORDER BY id FOR NO KEY UPDATE`,
      [nodeIds],
    )
  }

  /** The open questions of one node become another's, who is told the answers. */
  handOver(tx: Tx, from: string, to: string): void {
    tx.send(
      `UPDATE canvas.human_requests SET node_id = $2, version = version + 1 WHERE node_id = $1 AND status = 'pending'`,
      [from, to],
    )
  }

  /** Open ones whose deadline has passed, or whose node was canceled. */
  async over(reader: Reader, now: Date): Promise<string[]> {
    const rows = await reader.query<{ id: string }>(
      `SELECT id FROM canvas.human_requests WHERE status = 'pending' AND deadline <= $1
       UNION SELECT q.id FROM canvas.human_requests q JOIN canvas.nodes n ON n.id = q.node_id
              WHERE q.status = 'pending' AND n.status = 'canceled'
       LIMIT 100`,
      [now],
    )
    return rows.map(({ id }) => id)
  }

  page(
    reader: Reader,
    filter: {
      horizon: Horizon
      status: HumanRequestStatus | undefined
      nodeId: string | undefined
      before: Position | undefined
      limit: number
    },
  ): Promise<HumanRequestRecord[]> {
    const values: unknown[] = [filter.limit]
    const put = (value: unknown): string => `$${values.push(value)}`
    const conditions = [
      ...seen(filter.horizon, put),
      ...(filter.status === undefined ? [] : [`q.status = ${put(filter.status)}`]),
      ...(filter.nodeId === undefined ? [] : [`q.node_id = ${put(filter.nodeId)}`]),
      ...(filter.before ? [`(q.created_at, q.id) < (${put(filter.before.createdAt)}, ${put(filter.before.id)})`] : []),
    ]
    return reader.query<HumanRequestRecord>(
      `SELECT q.* FROM canvas.human_requests q WHERE ${['true', ...conditions].join(' AND ')}
        ORDER BY q.created_at DESC, q.id DESC LIMIT $1`,
      values,
    )
  }

  /** Open requests, newest first. */
  tickets(
    reader: Reader,
    { horizon, before, limit }: { horizon: Horizon; before?: Position | undefined; limit: number },
  ): Promise<Ticket[]> {
    const values: unknown[] = [limit]
    const put = (value: unknown): string => `$${values.push(value)}`
    const conditions = [
      "q.status = 'pending'",
      ...seen(horizon, put),
      ...(before ? [`(q.created_at, q.id) < (${put(before.createdAt)}, ${put(before.id)})`] : []),
    ]
    return reader.query<Ticket>(
      `SELECT q.id, q.title, q.deadline, q.default_response IS NOT NULL AS has_default, q.created_at, q.node_id,
              n.name AS node_name, n.kind AS node_kind, n.status
         FROM canvas.human_requests q LEFT JOIN canvas.nodes n ON n.id = q.node_id
        WHERE ${conditions.join(' AND ')} ORDER BY q.created_at DESC, q.id DESC LIMIT $1`,
      values,
    )
  }

  /** Open requests of these nodes that the caller may see: how many each has. */
  async openCounts(reader: Reader, ids: readonly string[], horizon: Horizon): Promise<Map<string, number>> {
    const values: unknown[] = [ids]
    const put = (value: unknown): string => `$${values.push(value)}`
    const conditions = ["q.status = 'pending'", 'q.node_id = ANY ($1::text[])', ...seen(horizon, put)]
    const rows = await reader.query<{ node_id: string; open: number }>(
      `SELECT q.node_id, count(*) AS open FROM canvas.human_requests q WHERE ${conditions.join(' AND ')} GROUP BY q.node_id`,
      values,
    )
    return new Map(rows.map((row) => [row.node_id, Number(row.open)]))
  }

  /** Deletes what was resolved before then; answers how many. */
  prune(tx: Tx, before: Date, limit: number): Promise<number> {
    return tx.count(
      `DELETE FROM canvas.human_requests WHERE id IN (
         SELECT id FROM canvas.human_requests WHERE status <> 'pending' AND resolved_at < $1 ORDER BY resolved_at LIMIT $2)`,
      [before, limit],
    )
  }
}

/** Conditions on q: an asker's own, or of the nodes that may be seen. */
export const seen = (horizon: Horizon, put: (value: unknown) => string): string[] => {
  const { appId, profile } = horizon
  if (appId !== undefined) {
    const own = `q.app_id = ${put(appId)}`
    if (profile === undefined) return [own]
    const asked = `SELECT 1 FROM canvas.nodes asker WHERE asker.id = q.node_id AND asker.profile = ${put(profile)}`
    return [own, `(q.principal = ${put(appPrincipal(appId, profile))} OR EXISTS (${asked}))`]
  }
  const inTree = within(horizon, put, 'asker')
  if (inTree.length === 0) return []
  return [`EXISTS (SELECT 1 FROM canvas.nodes asker WHERE asker.id = q.node_id AND ${inTree.join(' AND ')})`]
}

export const missingRequest = (id: string): never => {
  throw new SvcError('not_found', `There is no request ${id}.`, { resource: 'human_request', id })
}
