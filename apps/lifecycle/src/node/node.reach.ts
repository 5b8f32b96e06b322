import { normalize } from 'node:path'
import type { Actor } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { covers } from '#common/kernel/scopes.js'
import type { NodeRecord } from './node.record.js'

/** Who makes a node or lets one work: a node, or an application, which has no place but what its scopes name. */
export interface Reaching {
  readonly id: string
  readonly cwd: string | null
  readonly scopes: readonly string[]
}

/**
 * What an application reaches when it makes a node: what it may write by its scopes, and where a node of its own making
 * works already.
 */
export const reachOfApp = (
  { principal, scopes }: Actor,
  parent: Pick<NodeRecord, 'cwd' | 'spawned_by'> | null,
): Reaching => ({ id: principal, cwd: parent && parent.spawned_by !== 'owner' ? parent.cwd : null, scopes })

/**
 * Who makes a node hands on what it has and nothing more: what it makes works inside of what it may write itself. Links
 * are the host's to follow, which compares the real places.
 *
 * @throws SvcError path_outside_scope
 */
export const requireReach = (maker: Reaching, cwd: string): void => {
  const path = normalize(cwd)
  const own = maker.cwd === null ? undefined : normalize(maker.cwd)
  if (own !== undefined && (path === own || path.startsWith(own === '/' ? '/' : `${own}/`))) return
  if (covers(maker.scopes, `svc:files:rw:user:${path}`)) return
  throw new SvcError('path_outside_scope', `${path} lies outside of what ${maker.id} may write.`, { path })
}
