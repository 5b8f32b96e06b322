import type { Actor, Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import type { CronRecord } from './cron.record.js'

/** Of a row: whose it is, and under whom that node stands. */
export type Belonging = Pick<CronRecord, 'owner_node_id' | 'owner_path' | 'app_id' | 'profile'>

/** What a request names besides the id: it is about nothing else. */
export interface Narrowing {
  readonly node_id?: string | undefined
  readonly app_id?: string | undefined
}

const isSeen = (row: Belonging, { kind, nodeId, appId, profile }: Actor): boolean => {
  if (kind === 'owner' || kind === 'system') return true
  if (kind === 'node') return nodeId !== undefined && row.owner_path.includes(nodeId)
  return appId !== undefined && row.app_id === appId && (profile ?? row.profile) === row.profile
}

/**
 * The row, where the caller may see it: the owner each, a node its own and those of nodes below it, an app its own, of
 * one profile where its token is confined to that. "Missing" and "not yours" answer alike.
 *
 * @throws SvcError not_found
 */
export const requireSeen = <R extends Belonging>(
  ctx: Context,
  id: string,
  row: R | undefined,
  { node_id, app_id }: Narrowing = {},
): R => {
  const named = row && (node_id ?? row.owner_node_id) === row.owner_node_id && (app_id ?? row.app_id) === row.app_id
  if (row && named && isSeen(row, ctx.actor)) return row
  throw new SvcError('not_found', `There is no schedule ${id}.`, { resource: 'cron', id })
}

/** The same as conditions on a table that has the columns of `Belonging`; their values are put into the statement's. */
export const seenBy = (
  { kind, nodeId, appId, profile }: Actor,
  put: (value: unknown) => string,
  table: string,
): string[] => {
  if (kind === 'owner' || kind === 'system') return []
  if (kind === 'node') return [`${table}.owner_path @> ARRAY[${put(nodeId ?? '')}]::text[]`]
  return [
    `${table}.app_id = ${put(appId ?? '')}`,
    ...(profile === undefined ? [] : [`${table}.profile = ${put(profile)}`]),
  ]
}
