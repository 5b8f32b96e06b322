import type { Actor, Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { covers, parseScope } from '#common/kernel/scopes.js'
import type { ObjectRecord } from './object.record.js'

/** Whose an object is: an application's, or the owner's alone. */
type Belonging = Pick<ObjectRecord, 'app_id'>

/** That of its application, whose nodes act for it; one of none is for the nodes that the owner started. */
const belongs = ({ app_id }: Belonging, { kind, appId }: Actor): boolean => {
  if (kind === 'owner' || kind === 'system') return true
  return app_id === null ? kind === 'node' && appId === undefined : appId === app_id
}

const opened = ({ app_id }: Belonging, { kind, scopes }: Actor): boolean =>
  kind !== 'pub' && app_id !== null && covers(scopes, `svc:objects:read:app:${app_id}`)

export const hiddenObject = (ref: string): SvcError =>
  new SvcError('not_found', `There is no object ${ref}.`, { resource: 'object', id: ref })

/**
 * The object, where the caller may read and watch it: the owner each; an application and its nodes what is the
 * application's, and that of another one by `svc:objects:read:app:<id>`. "Missing" and "not yours" answer alike.
 *
 * @throws SvcError not_found
 */
export const requireSeen = <R extends Belonging>(ctx: Context, ref: string, row: R | undefined): R => {
  if (row && (belongs(row, ctx.actor) || opened(row, ctx.actor))) return row
  throw hiddenObject(ref)
}

/**
 * The object, where the caller may publish its events: whoever it belongs to, and its own publish token.
 *
 * @throws SvcError not_found
 */
export const requirePublisher = <R extends Belonging & Pick<ObjectRecord, 'id'>>(
  ctx: Context,
  ref: string,
  row: R | undefined,
): R => {
  const { actor } = ctx
  if (row && (actor.kind === 'pub' ? actor.principal === `object:${row.id}` : belongs(row, actor))) return row
  throw hiddenObject(ref)
}

const appOpenedBy = (text: string): string[] => {
  if (!text.startsWith('svc:objects:')) return []
  const scope = parseScope(text)
  return scope.kind === 'area' && scope.holder.kind === 'app' ? [scope.holder.app] : []
}

/** What `requireSeen` lets through, as conditions on a table that has `app_id`; their values are put into the statement's. */
export const seenBy = ({ kind, appId, scopes }: Actor, put: (value: unknown) => string, table: string): string[] => {
  if (kind === 'owner' || kind === 'system') return []
  const apps = [...(appId === undefined ? [] : [appId]), ...scopes.flatMap(appOpenedBy)]
  const ofApps = `${table}.app_id = ANY (${put(apps)}::text[])`
  return [kind === 'node' && appId === undefined ? `(${table}.app_id IS NULL OR ${ofApps})` : ofApps]
}
