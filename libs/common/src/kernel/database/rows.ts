import { SvcError } from '../errors.js'
import type { Tx } from './tx.js'

const identifier = /^[a-z_]+(\.[a-z_]+)?$/

const named = (name: string): string => {
  if (!identifier.test(name)) throw new Error(`${name} is not the name of a table or column`)
  return name
}

/**
 * Locks rows against other writers until commit and reads them. In the order of their ids, whatever the order asked for:
 * two transactions that lock all they need in one call can't wait for each other. Missing ids are left out.
 */
export const lockRows = <Row>(tx: Tx, table: string, ids: readonly string[]): Promise<Row[]> =>
  // weaker than FOR UPDATE: a new child that only refers to the row does not wait
  tx.query<Row>(`SELECT * FROM ${named(table)} WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE`, [ids])

/** Columns and their new values; JSON columns take text (`json(value)`). */
export type Patch = Readonly<Record<string, unknown>>

const assignments = (patch: Patch, from: number): string =>
  Object.keys(patch)
    .map((column, at) => `${named(column)} = $${at + from}`)
    .join(', ')

const update = (table: string, patch: Patch): string =>
  `UPDATE ${named(table)} SET ${assignments(patch, 3)}, version = version + 1 WHERE id = $1 AND version = $2`

/**
 * Changes a row that is still at the version it was read at, and raises the version.
 *
 * @throws SvcError version_conflict when it is not, or is gone.
 */
export const compareAndSet = async (
  tx: Tx,
  table: string,
  at: { id: string; version: number },
  patch: Patch,
): Promise<void> => {
  const changed = await tx.count(update(table, patch), [at.id, at.version, ...Object.values(patch)])
  if (changed !== 1) throw new SvcError('version_conflict')
}

/** As `compareAndSet`, of a row that this transaction has locked, and so without waiting for the answer. */
export const setLocked = (tx: Tx, table: string, at: { id: string; version: number }, patch: Patch): void =>
  tx.send(update(table, patch), [at.id, at.version, ...Object.values(patch)])
