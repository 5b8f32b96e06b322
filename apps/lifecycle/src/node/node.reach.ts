import { normalize } from 'node:path'
import { SvcError } from '#common/kernel/errors.js'
import { covers } from '#common/kernel/scopes.js'
import type { NodeRecord } from './node.record.js'

/**
 * A node hands on what it has and nothing more: whom it makes works inside of what it may write itself. Links are the
 * host's to follow, which compares the real places.
 *
 * @throws SvcError path_outside_scope
 */
export const requireReach = (maker: Pick<NodeRecord, 'id' | 'cwd' | 'scopes'>, cwd: string): void => {
  const path = normalize(cwd)
  const own = normalize(maker.cwd)
  if (path === own || path.startsWith(own === '/' ? '/' : `${own}/`)) return
  if (covers(maker.scopes, `svc:files:rw:user:${path}`)) return
  throw new SvcError('path_outside_scope', `${path} lies outside of what the node ${maker.id} may write.`, { path })
}
