import { Injectable } from '@nestjs/common'
import type { NodeStatus } from '#common/contract/node.schema.js'
import { json } from '#common/kernel/database/column-types.js'
import { lockRows, setLocked } from '#common/kernel/database/rows.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import { attentionCount, faulty, hangs, type Since } from '../canvas/hanging.query.js'
import type { NodeRecord } from './node.record.js'

const jsonColumns = new Set<keyof NodeRecord>([
  'forked_from',
  'exec',
  'worktree',
  'model',
  'result_schema',
  'persona',
  'fault',
])

const column = (name: string, value: unknown): unknown =>
  jsonColumns.has(name as keyof NodeRecord) ? json(value) : value

export interface NodeFilter {
  readonly status?: NodeStatus | undefined
  readonly kind?: string | undefined
  readonly mode?: string | undefined
  readonly lifecycle?: string | undefined
  readonly cwd?: string | undefined
  readonly text?: string | undefined
  /** Only this node and those below it. */
  readonly under?: string | undefined
  readonly appId?: string | undefined
  readonly profile?: string | undefined
  readonly app?: string | undefined
  /** Those that hang, or those that don't. */
  readonly hanging?: boolean | undefined
  /** From when on something must have happened. */
  readonly since: Since
  readonly before?: { readonly createdAt: Date; readonly id: string } | undefined
  readonly limit: number
}

/** A node as it is shown. */
export type NodeView = NodeRecord & { readonly attention: number }

/** A node with its subscribers, all locked. */
export interface Family {
  readonly node: NodeRecord
  readonly subscribers: readonly { readonly node: NodeRecord; readonly mode: 'active' | 'passive' }[]
}

/** Ids of a node and of all below it. */
const subtree = (root: string): string => `
  WITH RECURSIVE below AS (
    SELECT id FROM canvas.nodes WHERE id = ${root}
    UNION ALL SELECT n.id FROM canvas.nodes n JOIN below b ON n.parent_id = b.id
  ) SELECT id FROM below`

/** Rows of canvas.nodes. Whoever changes one has locked it first; locks are taken in id order. */
@Injectable()
export class NodeRepository {
  async find(reader: Reader, id: string): Promise<NodeRecord | undefined> {
    const [row] = await reader.query<NodeRecord>('SELECT * FROM canvas.nodes WHERE id = $1', [id])
    return row
  }

  /** @throws SvcError not_found */
  async get(reader: Reader, id: string): Promise<NodeRecord> {
    return (await this.find(reader, id)) ?? missing(id)
  }

  /** As `get`, with what of it needs a person. @throws SvcError not_found */
  async view(reader: Reader, id: string, { stuck, resting }: Since): Promise<NodeView> {
    const [row] = await reader.query<NodeView>(
      `SELECT n.*, ${attentionCount('$2', '$3')} AS attention FROM canvas.nodes n WHERE n.id = $1`,
      [id, stuck, resting],
    )
    return row ?? missing(id)
  }

  /** The node, locked until the transaction ends. @throws SvcError not_found */
  async lock(tx: Tx, id: string): Promise<NodeRecord> {
    const [row] = await tx.query<NodeRecord>('SELECT * FROM canvas.nodes WHERE id = $1 FOR NO KEY UPDATE', [id])
    return row ?? missing(id)
  }

  /** Those of the nodes that exist, locked in id order. */
  async lockAll(tx: Tx, ids: readonly string[]): Promise<Map<string, NodeRecord>> {
    const rows = await lockRows<NodeRecord>(tx, 'canvas.nodes', ids)
    return new Map(rows.map((row) => [row.id, row]))
  }

  /** The node and those who subscribe to it, locked in id order. @throws SvcError not_found */
  async lockFamily(tx: Tx, id: string): Promise<Family> {
    return (await this.findFamily(tx, id)) ?? missing(id)
  }

  /** As `lockFamily`, of a node that may be gone. */
  async findFamily(tx: Tx, id: string): Promise<Family | undefined> {
    const [rows, modes] = await Promise.all([
      tx.query<NodeRecord>(
        `SELECT * FROM canvas.nodes
          WHERE id = ANY ($1::text || ARRAY(SELECT subscriber FROM canvas.subscriptions WHERE publisher = $1))
          ORDER BY id FOR NO KEY UPDATE`,
        [id],
      ),
      tx.query<{ subscriber: string; mode: 'active' | 'passive' }>(
        'SELECT subscriber, mode FROM canvas.subscriptions WHERE publisher = $1',
        [id],
      ),
    ])
    const node = rows.find((row) => row.id === id)
    if (!node) return undefined
    const modeOf = new Map(modes.map((entry) => [entry.subscriber, entry.mode]))
    const subscribers = rows.flatMap((row) => {
      const mode = modeOf.get(row.id)
      return mode ? [{ node: row, mode }] : []
    })
    return { node, subscribers }
  }

  insert(tx: Tx, node: NodeRecord): void {
    const names = Object.keys(node).sort()
    tx.send(
      `INSERT INTO canvas.nodes (${names.join(', ')}) VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
      names.map((name) => column(name, node[name as keyof NodeRecord])),
    )
  }

  /** Writes the changes of a row that this transaction has locked, and raises its version. Answers the row as it is now. */
  save(tx: Tx, before: NodeRecord, changes: Partial<NodeRecord>, now: Date): NodeRecord {
    const names = Object.keys(changes).sort() as (keyof NodeRecord)[]
    const patch = Object.fromEntries(names.map((name) => [name, column(name, changes[name])]))
    setLocked(tx, 'canvas.nodes', before, { ...patch, updated_at: now })
    return { ...before, ...changes, version: before.version + 1, updated_at: now }
  }

  async list(reader: Reader, filter: NodeFilter): Promise<NodeView[]> {
    const values: unknown[] = [filter.since.stuck, filter.since.resting]
    const put = (value: unknown): string => `$${values.push(value)}`
    const conditions = [
      ...(['status', 'kind', 'mode', 'lifecycle', 'cwd'] as const)
        .filter((name) => filter[name] !== undefined)
        .map((name) => `${name} = ${put(filter[name])}`),
      ...(filter.appId === undefined ? [] : [`app_id = ${put(filter.appId)}`]),
      ...(filter.profile === undefined ? [] : [`profile = ${put(filter.profile)}`]),
      ...(filter.app === undefined ? [] : [`app_id = ${put(filter.app)}`]),
      ...(filter.hanging === undefined ? [] : [hanging(filter.hanging)]),
      ...(filter.text === undefined
        ? []
        : [
            `(name || ' ' || coalesce(description, '')) ILIKE '%' || ${put(filter.text.replace(/[\\%_]/g, '\\$&'))} || '%'`,
          ]),
      ...(filter.under === undefined ? [] : [`id IN (${subtree(put(filter.under))})`]),
      ...(filter.before === undefined
        ? []
        : [`(created_at, id) < (${put(filter.before.createdAt)}, ${put(filter.before.id)})`]),
    ]
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
    return reader.query<NodeView>(
      `SELECT n.*, ${attentionCount('$1', '$2')} AS attention FROM canvas.nodes n ${where} ORDER BY created_at DESC, id DESC LIMIT ${put(filter.limit)}`,
      values,
    )
  }

  /** Whether every node of a tree has ended. */
  async isTreeEnded(reader: Reader, rootId: string): Promise<boolean> {
    const [row] = await reader.query<{ live: boolean }>(
      "SELECT EXISTS (SELECT 1 FROM canvas.nodes WHERE root_id = $1 AND status IN ('active', 'idle')) AS live",
      [rootId],
    )
    return row?.live === false
  }

  async childCount(reader: Reader, id: string): Promise<number> {
    const [row] = await reader.query<{ children: number }>(
      'SELECT count(*) AS children FROM canvas.nodes WHERE parent_id = $1',
      [id],
    )
    return row?.children ?? 0
  }

  /** Whether `id` is `ancestor` or lies below it. */
  async isWithin(reader: Reader, id: string, ancestor: string): Promise<boolean> {
    const [row] = await reader.query<{ within: boolean }>(
      `WITH RECURSIVE above AS (
         SELECT id, parent_id FROM canvas.nodes WHERE id = $1
         UNION ALL SELECT n.id, n.parent_id FROM canvas.nodes n JOIN above a ON n.id = a.parent_id
       ) SELECT EXISTS (SELECT 1 FROM above WHERE id = $2) AS within`,
      [id, ancestor],
    )
    return row?.within ?? false
  }

  /** Ids of this node and of all above it, the nearest first. */
  async path(reader: Reader, id: string): Promise<string[]> {
    const rows = await reader.query<{ id: string }>(
      `WITH RECURSIVE above AS (
         SELECT id, parent_id, 0 AS far FROM canvas.nodes WHERE id = $1
         UNION ALL SELECT n.id, n.parent_id, a.far + 1 FROM canvas.nodes n JOIN above a ON n.id = a.parent_id
       ) SELECT id FROM above ORDER BY far`,
      [id],
    )
    return rows.map((row) => row.id)
  }

  /** Ids of all nodes below this one, itself left out. */
  async below(reader: Reader, id: string): Promise<string[]> {
    const rows = await reader.query<{ id: string }>(`${subtree('$1')} WHERE id <> $1 ORDER BY id`, [id])
    return rows.map((row) => row.id)
  }

  /** Ids of an app's nodes of one profile. */
  async ofProfile(reader: Reader, appId: string, profile: string): Promise<string[]> {
    const rows = await reader.query<{ id: string }>(
      'SELECT id FROM canvas.nodes WHERE app_id = $1 AND profile = $2 ORDER BY id',
      [appId, profile],
    )
    return rows.map((row) => row.id)
  }

  /** Nodes that owe work: the reconciler compares each with what its host says. */
  active(reader: Reader): Promise<NodeRecord[]> {
    return reader.query<NodeRecord>("SELECT * FROM canvas.nodes WHERE status = 'active' ORDER BY updated_at")
  }

  recordTransition(
    tx: Tx,
    entry: {
      nodeId: string
      version: number
      event: string
      from: string | null
      to: string
      intent: string | null
      actor: unknown
      at: Date
    },
  ): void {
    tx.send(
      `INSERT INTO canvas.transitions (node_id, version, event, from_status, to_status, intent, actor, at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [entry.nodeId, entry.version, entry.event, entry.from, entry.to, entry.intent, json(entry.actor), entry.at],
    )
  }

  subscribe(tx: Tx, subscriber: string, publisher: string, mode: 'active' | 'passive'): void {
    tx.send(
      `INSERT INTO canvas.subscriptions (subscriber, publisher, mode) VALUES ($1, $2, $3)
       ON CONFLICT (subscriber, publisher) DO UPDATE SET mode = excluded.mode`,
      [subscriber, publisher, mode],
    )
  }
}

/** What has a fault is shown with that. */
const hanging = (wanted: boolean): string => {
  const hung = `${hangs('$1', '$2')} IS NOT NULL AND NOT (${faulty})`
  return wanted ? `(${hung})` : `NOT (${hung})`
}

const missing = (id: string): never => {
  throw new SvcError('not_found', `There is no node ${id}.`, { resource: 'node', id })
}
