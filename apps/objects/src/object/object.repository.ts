import { idPattern } from '#common/contract/common.schema.js'
import { objectLimits } from '#common/contract/object.schema.js'
import type { Context } from '#common/kernel/context.js'
import { json } from '#common/kernel/database/column-types.js'
import type { Position } from '#common/kernel/database/cursor.js'
import { setLocked } from '#common/kernel/database/rows.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import { seenBy } from './object.access.js'
import type { ObjectRecord } from './object.record.js'

const jsonColumns = new Set(['catalog', 'receiver', 'created_by'])
const columnValue = (name: string, value: unknown): unknown => (jsonColumns.has(name) ? json(value) : value)

const isId = (ref: string): boolean => idPattern('obj').test(ref)
const byRef = (ref: string): string => (isId(ref) ? 'id = $1' : 'name = $1')

/** An object as far as lists and events show it. */
export interface NamedObject {
  readonly id: string
  readonly name: string
}

/**
 * Rows of objects.objects. Whoever changes one has locked its row of objects.sources before: rows are locked in the order
 * sources, objects, receivers, acks, and those of one table by their ids.
 */
export class ObjectRepository {
  /** @param ref id, or name of one that is there */
  async find(reader: Reader, ref: string): Promise<ObjectRecord | undefined> {
    const [row] = await reader.query<ObjectRecord>(
      `SELECT * FROM objects.objects WHERE ${byRef(ref)} AND deleted_at IS NULL`,
      [ref],
    )
    return row
  }

  /** Those of these ids that are there. */
  async all(reader: Reader, ids: readonly string[]): Promise<Map<string, ObjectRecord>> {
    if (ids.length === 0) return new Map()
    const rows = await reader.query<ObjectRecord>(
      'SELECT * FROM objects.objects WHERE id = ANY ($1::text[]) AND deleted_at IS NULL',
      [ids],
    )
    return new Map(rows.map((row) => [row.id, row]))
  }

  async lock(tx: Tx, id: string): Promise<ObjectRecord | undefined> {
    const [row] = await tx.query<ObjectRecord>(
      'SELECT * FROM objects.objects WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE',
      [id],
    )
    return row
  }

  /** The one that was deleted last under this id or name, while its row is kept. */
  async findDeleted(reader: Reader, ref: string): Promise<NamedObject | undefined> {
    const [row] = await reader.query<NamedObject>(
      `SELECT id, name FROM objects.objects WHERE ${byRef(ref)} AND deleted_at IS NOT NULL
        ORDER BY deleted_at DESC LIMIT 1`,
      [ref],
    )
    return row
  }

  /** Names of those of these ids that are there. */
  async names(reader: Reader, ids: readonly string[]): Promise<Map<string, string>> {
    const objects = ids.filter(isId)
    if (objects.length === 0) return new Map()
    const rows = await reader.query<NamedObject>(
      'SELECT id, name FROM objects.objects WHERE id = ANY ($1::text[]) AND deleted_at IS NULL',
      [objects],
    )
    return new Map(rows.map(({ id, name }) => [id, name]))
  }

  /** Whether the name was free; waits for whoever is about to take or leave it. */
  async insert(tx: Tx, row: ObjectRecord): Promise<boolean> {
    const names = Object.keys(row)
    const added = await tx.count(
      `INSERT INTO objects.objects (${names.join(', ')}) VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')})
       ON CONFLICT (name) WHERE deleted_at IS NULL DO NOTHING`,
      names.map((name) => columnValue(name, row[name as keyof ObjectRecord])),
    )
    return added === 1
  }

  /** Writes the changes of a row that this transaction has locked, and raises its version. */
  save(tx: Tx, before: ObjectRecord, changed: Partial<ObjectRecord>, at: Date): ObjectRecord {
    const version = before.version + 1
    const changes = changed.receiver === undefined ? changed : { ...changed, receiver_version: version }
    const patch = Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, columnValue(name, value)]))
    setLocked(tx, 'objects.objects', before, { ...patch, updated_at: at })
    return { ...before, ...changes, version, updated_at: at }
  }

  /** Of those that the caller may see, the newest first. */
  page(
    reader: Reader,
    ctx: Context,
    filter: { readonly appId: string | undefined; readonly before: Position | undefined; readonly limit: number },
  ): Promise<ObjectRecord[]> {
    const values: unknown[] = [filter.limit]
    const put = (value: unknown): string => `$${values.push(value)}`
    const conditions = [
      ...seenBy(ctx.actor, put, 'o'),
      ...(filter.appId === undefined ? [] : [`o.app_id = ${put(filter.appId)}`]),
      ...(filter.before ? [`(o.created_at, o.id) < (${put(filter.before.createdAt)}, ${put(filter.before.id)})`] : []),
    ]
    return reader.query<ObjectRecord>(
      `SELECT o.* FROM objects.objects o WHERE ${['o.deleted_at IS NULL', ...conditions].join(' AND ')}
        ORDER BY o.created_at DESC, o.id DESC LIMIT $1`,
      values,
    )
  }

  /** After one was added. @throws SvcError quota_exceeded */
  async requireRoom(tx: Tx): Promise<void> {
    const [row] = await tx.query<{ n: number }>(
      'SELECT count(*)::int AS n FROM objects.objects WHERE deleted_at IS NULL',
    )
    const max = objectLimits.objects
    if ((row?.n ?? 0) <= max) return
    throw new SvcError('quota_exceeded', `There are at most ${max} objects.`, { limit: 'objects', max })
  }

  /** Forgets which names were whose, of those deleted before then; answers how many. */
  prune(tx: Tx, before: Date, limit: number): Promise<number> {
    return tx.count(
      `DELETE FROM objects.objects WHERE id IN (
         SELECT id FROM objects.objects WHERE deleted_at < $1 ORDER BY deleted_at LIMIT $2)`,
      [before, limit],
    )
  }
}
