import type { ToldGrant } from '#common/contract/grant.internal.js'
import { exceeding, intersect } from '#common/kernel/scopes.js'
import type { NodeRecord } from '../node/node.record.js'

type Held = Pick<NodeRecord, 'app_id' | 'profile' | 'scopes'>

/**
 * What a node may do now.
 *
 * - `granted`: its own list, within the grant of its app if it runs for one.
 * - `revoked`: nothing, until the grant is given back.
 * - `unknown`: the gateway has not told yet what the app was granted: nothing is begun on the strength of that, and
 *   nothing ended.
 */
export type Ceiling =
  | { readonly state: 'granted'; readonly scopes: readonly string[] }
  | { readonly state: 'revoked' }
  | { readonly state: 'unknown' }

export const ceilingOf = ({ app_id, profile, scopes }: Held, grant: ToldGrant | undefined): Ceiling => {
  if (app_id === null) return { state: 'granted', scopes }
  if (!grant) return { state: 'unknown' }
  const foreign = profile !== null && grant.profiles !== null && !grant.profiles.includes(profile)
  if (grant.status === 'revoked' || foreign) return { state: 'revoked' }
  return { state: 'granted', scopes: intersect(scopes, grant.scopes) }
}

/** What something was made with that may not be had now; nothing while that is not known. */
export const excessOf = (made: readonly string[], ceiling: Ceiling): string[] =>
  ceiling.state === 'unknown' ? [] : exceeding(made, ceiling.state === 'granted' ? ceiling.scopes : [])

/** What a node shows while its app may do nothing. */
export const ungranted = (
  { app_id }: Held,
  { state }: Ceiling,
): { readonly kind: 'grant'; readonly message: string } => ({
  kind: 'grant',
  message:
    state === 'unknown'
      ? `What the app ${app_id} was granted is not known here yet.`
      : `The grant of the app ${app_id} was revoked.`,
})
