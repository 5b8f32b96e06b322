import { normalize } from 'node:path'
import { SvcError } from '#common/kernel/errors.js'
import { covers } from '#common/kernel/scopes.js'
import type { Standing } from './authority.service.js'

const isBelow = (path: string, place: string): boolean => path === place || path.startsWith(`${place}/`)

/**
 * Whether a command may be run there, as far as can be told without looking at a machine: the host decides again, with
 * the links followed. A node sees where it works, what its scopes name and a /tmp of its own; the owner everything; an
 * application nothing by itself.
 *
 * @throws SvcError node_token_required, path_outside_scope
 */
export const requireSight = ({ actor, node }: Standing, cwd: string): void => {
  if (actor.kind === 'owner') return
  if (!node) {
    throw new SvcError('node_token_required', 'A command of an app is run as one of its nodes: name it as the owner.')
  }
  const path = normalize(cwd)
  const places = [node.cwd, ...(actor.place?.git_dir ? [actor.place.git_dir] : []), '/tmp'].map(normalize)
  if (places.some((place) => place === '/' || isBelow(path, place))) return
  if (covers(actor.scopes, `svc:files:read:user:${path}`)) return
  throw new SvcError('path_outside_scope', `${path} lies outside of what ${node.id} sees.`, { path })
}
