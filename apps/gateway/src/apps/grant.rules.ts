import { appScopes } from '#common/kernel/app-scopes.js'
import { SvcError } from '#common/kernel/errors.js'
import type { GrantRecord } from './grant.record.js'

type Said = Pick<GrantRecord, 'scopes' | 'profiles'>

const equal = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((text, at) => text === b[at])

/** Whether two say the same; lists are kept in one spelling and order. */
export const sameGrant = (a: GrantRecord, b: GrantRecord): boolean =>
  a.status === b.status &&
  equal(a.scopes, b.scopes) &&
  (a.profiles === null) === (b.profiles === null) &&
  equal(a.profiles ?? [], b.profiles ?? [])

/**
 * What is asked for, in the one spelling in which it is kept.
 *
 * @throws SvcError `validation_failed` that points at what is wrong.
 */
export const checkGrant = (appId: string, { scopes, profiles }: Said): Said => ({
  scopes: appScopes(scopes, appId),
  profiles: profiles && [...new Set(profiles)].sort(),
})

export const hiddenApp = (ref: string): SvcError =>
  new SvcError('not_found', `There is no app ${ref}.`, { resource: 'app', id: ref })
