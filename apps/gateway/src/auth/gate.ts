import type { Gate } from '#common/contract/define.js'
import type { Actor } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { covers } from '#common/kernel/scopes.js'

/** The generation of a node that may speak for it now; `fresh` asks the writer again. */
export type CurrentGeneration = (nodeId: string, fresh: boolean) => Promise<number>

const speaksFor = (actor: Actor, nodeId: string | undefined): boolean =>
  actor.kind === 'node' && nodeId !== undefined && actor.nodeId === nodeId

/** A cache may be behind a launch by a moment: before a refusal the writer is asked. */
const isCurrent = async (actor: Actor, current: CurrentGeneration): Promise<boolean> => {
  const nodeId = actor.nodeId as string
  return (await current(nodeId, false)) === actor.generation || (await current(nodeId, true)) === actor.generation
}

/** What an app may still ask when its grant was taken back: what it stands for, and whether it has the grant again. */
const staysOpen = (gate: Gate): boolean => gate === 'open' || gate === 'bearer' || gate === 'app'

const opens = (gate: Gate, actor: Actor, nodeId: string | undefined): boolean => {
  if (actor.kind === 'app' && actor.grantRevoked && !staysOpen(gate)) return false
  switch (gate) {
    case 'open':
    case 'bearer':
      return true
    case 'own':
      return actor.kind !== 'pub'
    case 'app':
    case 'pub':
      return actor.kind === gate
    case 'owner':
      return actor.kind === 'owner'
    case 'self':
    case 'broker':
      return speaksFor(actor, nodeId)
    default:
      return covers(actor.scopes, gate)
  }
}

/** Whether the grant of its app would open a gate that is closed; what is the owner's alone it opens in no case. */
const lostByRevoking = (gates: readonly Gate[], actor: Actor): boolean =>
  actor.grantRevoked === true &&
  (actor.kind === 'app' ? !gates.every((gate) => gate === 'owner') : gates.some((gate) => gate.startsWith('svc:')))

/** Of several closed gates the scope is named, since a caller can ask for one. */
const refusalOf = (gates: readonly Gate[], actor: Actor): SvcError => {
  if (actor.kind === 'pub') return new SvcError('publish_token_only')
  if (lostByRevoking(gates, actor)) return new SvcError('grant_revoked', undefined, { app_id: actor.appId })
  const scope = gates.find((gate) => gate.startsWith('svc:'))
  if (scope) return new SvcError('scope_missing', `This needs the scope ${scope}.`, { scope })
  if (gates.includes('app')) return new SvcError('app_token_required')
  return new SvcError(gates.includes('owner') ? 'owner_required' : 'node_token_required')
}

/**
 * Lets an actor through one of the gates, or refuses.
 *
 * @param nodeId the node that the path names.
 * @throws SvcError `scope_missing`, `grant_revoked`, `owner_required`, `node_token_required`,
 * `app_token_required`, `publish_token_only`, `stale_generation`.
 */
export const passGates = async (
  gates: readonly Gate[],
  actor: Actor,
  nodeId: string | undefined,
  current: CurrentGeneration,
): Promise<void> => {
  const open = gates.filter((gate) => opens(gate, actor, nodeId))
  if (open.length === 0) throw refusalOf(gates, actor)
  if (open.every((gate) => gate === 'broker') && !(await isCurrent(actor, current)))
    throw new SvcError('stale_generation')
}
