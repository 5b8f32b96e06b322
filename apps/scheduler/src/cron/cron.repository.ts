import { type CronStatus, cronLimits } from '#common/contract/cron.schema.js'
import type { Context } from '#common/kernel/context.js'
import { json } from '#common/kernel/database/column-types.js'
import type { Position } from '#common/kernel/database/cursor.js'
import { setLocked } from '#common/kernel/database/rows.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import { seenBy } from './cron.access.js'
import type { CronRecord } from './cron.record.js'

const jsonColumns = new Set(['authority', 'created_by', 'schedule', 'action'])
const columnValue = (name: string, value: unknown): unknown => (jsonColumns.has(name) ? json(value) : value)

/** Schedules that one that is added clears away at most: one more is there each time, and what was too many before goes soon. */
const clearedAtOnce = 10

/** What a list is about, besides what its reader may see. */
export interface CronFilter {
  readonly status: CronStatus | undefined
  readonly nodeId: string | undefined
  readonly appId: string | undefined
  readonly before: Position | undefined
  readonly limit: number
}

/** Rows of scheduler.crons. Whoever changes one has locked it. */
export class CronRepository {
  async find(reader: Reader, id: string): Promise<CronRecord | undefined> {
    const [row] = await reader.query<CronRecord>('SELECT * FROM scheduler.crons WHERE id = $1', [id])
    return row
  }

  async lock(tx: Tx, id: string): Promise<CronRecord | undefined> {
    const [row] = await tx.query<CronRecord>('SELECT * FROM scheduler.crons WHERE id = $1 FOR NO KEY UPDATE', [id])
    return row
  }

  insert(tx: Tx, row: CronRecord): void {
    const names = Object.keys(row)
    tx.send(
      `INSERT INTO scheduler.crons (${names.join(', ')}) VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})`,
      names.map((name) => columnValue(name, row[name as keyof CronRecord])),
    )
  }

  /** Writes the changes of a row that this transaction has locked, and raises its version. */
  save(tx: Tx, before: CronRecord, changes: Partial<CronRecord>, at: Date): CronRecord {
    const patch = Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, columnValue(name, value)]))
    setLocked(tx, 'scheduler.crons', before, { ...patch, updated_at: at })
    return { ...before, ...changes, version: before.version + 1, updated_at: at }
  }

  remove(tx: Tx, ids: readonly string[]): void {
    tx.send('DELETE FROM scheduler.crons WHERE id = ANY ($1::text[])', [ids])
  }

  /** Of those that the caller may see, the newest first. */
  page(reader: Reader, ctx: Context, filter: CronFilter): Promise<CronRecord[]> {
    const values: unknown[] = [filter.limit]
    const put = (value: unknown): string => `$${values.push(value)}`
    const conditions = [
      ...seenBy(ctx.actor, put, 'c'),
      ...(filter.status === undefined ? [] : [`c.status = ${put(filter.status)}`]),
      ...(filter.nodeId === undefined ? [] : [`c.owner_node_id = ${put(filter.nodeId)}`]),
      ...(filter.appId === undefined ? [] : [`c.app_id = ${put(filter.appId)}`]),
      ...(filter.before ? [`(c.created_at, c.id) < (${put(filter.before.createdAt)}, ${put(filter.before.id)})`] : []),
    ]
    return reader.query<CronRecord>(
      `SELECT c.* FROM scheduler.crons c WHERE ${['true', ...conditions].join(' AND ')}
        ORDER BY c.created_at DESC, c.id DESC LIMIT $1`,
      values,
    )
  }

  /** All that these nodes armed and that are aimed at them, locked in the order of their ids. */
  lockOfNodes(tx: Tx, nodeIds: readonly string[]): Promise<CronRecord[]> {
    return tx.query<CronRecord>(
      `SELECT * FROM scheduler.crons WHERE id = ANY (ARRAY(
         SELECT id FROM scheduler.crons WHERE owner_node_id = ANY ($1::text[])
         UNION SELECT id FROM scheduler.crons WHERE target_node_id = ANY ($1::text[])))
        ORDER BY id FOR UPDATE`,
      [nodeIds],
    )
  }

  /** All that a node or one below it armed, and those whose action names it, locked in the order of their ids. */
  lockNaming(tx: Tx, nodeId: string): Promise<CronRecord[]> {
    return tx.query<CronRecord>(
      `SELECT * FROM scheduler.crons WHERE id = ANY (ARRAY(
         SELECT id FROM scheduler.crons WHERE owner_path @> ARRAY[$1]::text[]
         UNION SELECT id FROM scheduler.crons WHERE target_node_id = $1
         UNION SELECT id FROM scheduler.crons WHERE action ->> 'parent_id' = $1))
        ORDER BY id FOR UPDATE`,
      [nodeId],
    )
  }

  /** Those that are over and have not changed since then, of which no line is left either; locked but for what others hold. */
  lockForgotten(tx: Tx, before: Date, limit: number): Promise<CronRecord[]> {
    return tx.query<CronRecord>(
      // nothing is changed before it is made: so an index has those that are old enough
      `SELECT c.* FROM scheduler.crons c
        WHERE c.status IN ('completed', 'failed') AND c.created_at < $1 AND c.updated_at < $1
          AND NOT EXISTS (SELECT 1 FROM scheduler.fires f WHERE f.cron_id = c.id)
        LIMIT $2 FOR UPDATE SKIP LOCKED`,
      [before, limit],
    )
  }

  /** Those that are over, locked, but for the newest of a node and of an application, of which as many are kept as may be armed. */
  async lockSurplus(tx: Tx, of: Pick<CronRecord, 'owner_node_id' | 'app_id'>): Promise<CronRecord[]> {
    if (of.owner_node_id === null && of.app_id === null) return []
    return tx.query<CronRecord>(
      `SELECT * FROM scheduler.crons WHERE id = ANY (ARRAY(
         (SELECT id FROM scheduler.crons WHERE owner_node_id = $1 AND status IN ('completed', 'failed')
           ORDER BY updated_at DESC, id DESC OFFSET $3 LIMIT $5)
         UNION (SELECT id FROM scheduler.crons WHERE app_id = $2 AND status IN ('completed', 'failed')
           ORDER BY updated_at DESC, id DESC OFFSET $4 LIMIT $5)))
        FOR UPDATE SKIP LOCKED`,
      [of.owner_node_id, of.app_id, cronLimits.perNode, cronLimits.perApp, clearedAtOnce],
    )
  }

  /**
   * That one more may be armed, by a node and for an application, until the end of the transaction.
   *
   * @throws SvcError quota_exceeded
   */
  async requireRoom(tx: Tx, of: Pick<CronRecord, 'owner_node_id' | 'app_id'>): Promise<void> {
    if (of.owner_node_id === null && of.app_id === null) return
    const [row] = await tx.query<{ of_node: number; of_app: number }>(
      `SELECT (SELECT count(*) FROM scheduler.crons WHERE owner_node_id = $1 AND status IN ('active', 'paused')) AS of_node,
              (SELECT count(*) FROM scheduler.crons WHERE app_id = $2 AND status IN ('active', 'paused')) AS of_app`,
      [of.owner_node_id, of.app_id],
    )
    if ((row?.of_node ?? 0) >= cronLimits.perNode) full('crons_of_node', 'A node', cronLimits.perNode)
    if ((row?.of_app ?? 0) >= cronLimits.perApp) full('crons_of_app', 'An application', cronLimits.perApp)
  }
}

const full = (limit: string, whose: string, max: number): never => {
  throw new SvcError('quota_exceeded', `${whose} has at most ${max} schedules that are active or paused.`, {
    limit,
    max,
  })
}
