import type { Reader } from '#common/kernel/database/tx.js'
import type { Ceilings } from '../grant/ceilings.js'
import type { NodeRecord } from './node.record.js'
import type { NodeRepository } from './node.repository.js'

/** Who stands behind a node, as its host is told: the node sees nothing that this one does not. */
interface Maker {
  /** Null: the application that chose where the first of them works, which has no place of its own. */
  readonly node_id: string | null
  readonly cwd: string | null
  readonly scopes: string[]
}

/**
 * The nodes behind the making of one, the nearest first, up to the one that no node made: the owner chose where that
 * works, or an application did, which stands behind it with what it was granted. Whatever a host starts for a node is told
 * them: its first process need not be its broker.
 */
export const makersOf = async (
  { nodes, ceilings }: { readonly nodes: NodeRepository; readonly ceilings: Ceilings },
  reader: Reader,
  node: NodeRecord,
): Promise<Maker[]> => {
  const makers: Maker[] = []
  let at: NodeRecord | undefined = node
  while (at?.spawned_by?.startsWith('node_')) {
    at = await nodes.find(reader, at.spawned_by)
    if (at) makers.push({ node_id: at.id, cwd: at.cwd, scopes: at.scopes })
  }
  const app = at?.app_id
  if (app == null || !at?.spawned_by?.startsWith('app:')) return makers
  return [...makers, { node_id: null, cwd: null, scopes: await ceilings.grantedTo(reader, app) }]
}
