import type { Authority } from '#common/contract/index.js'
import type { Actor } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'

/** A schedule of the one whom the caller's token belongs to. */
const own = ({ kind, principal, nodeId, appId, profile, scopes }: Actor): Authority => ({
  kind: kind === 'node' || kind === 'app' || kind === 'run' ? kind : 'owner',
  principal,
  node_id: nodeId ?? null,
  app_id: appId ?? null,
  profile: profile ?? null,
  scopes: [...scopes],
})

/**
 * On whose authority a schedule acts: of who makes it; or of the node that it is made for, and then with no more than who
 * makes it holds. Whether that node is the caller's to make schedules for is seen by `requireReach`.
 */
export const authorityOf = (actor: Actor, nodeId: string | undefined): Authority =>
  nodeId === undefined || nodeId === actor.nodeId
    ? own(actor)
    : { ...own(actor), kind: 'node', principal: `node:${nodeId}`, node_id: nodeId }

/** What lifecycle says of an authority. */
export interface Standing {
  readonly owner_path: readonly string[]
  readonly app_id: string | null
  readonly profile: string | null
}

/**
 * That the caller may make schedules for this node: its own or one below it; of an application, one of its nodes. Anything
 * else answers as if there were no such node.
 *
 * @throws SvcError not_found
 */
export const requireReach = (actor: Actor, nodeId: string, standing: Standing): void => {
  const { kind, appId, profile } = actor
  if (kind === 'owner' || kind === 'system') return
  if (kind === 'node' && actor.nodeId !== undefined && standing.owner_path.includes(actor.nodeId)) return
  const ofApp = kind !== 'node' && appId !== undefined && standing.app_id === appId
  if (ofApp && (profile ?? standing.profile) === standing.profile) return
  missingNode(nodeId)
}

export const missingNode = (id: string): never => {
  throw new SvcError('not_found', `There is no node ${id}.`, { resource: 'node', id })
}
