import type { Reader } from '#common/kernel/database/tx.js'
import type { NodeRecord } from './node.record.js'
import type { NodeRepository } from './node.repository.js'

/** A node as its host is told of it where it stands behind another: that one sees nothing that this one does not. */
interface Maker {
  readonly node_id: string
  readonly cwd: string
  readonly scopes: string[]
}

/**
 * The nodes behind the making of one, the nearest first, up to the one that no node made: the owner, or an application,
 * chose where that works. Whatever a host starts for a node is told them: its first process need not be its broker.
 */
export const makersOf = async (nodes: NodeRepository, reader: Reader, node: NodeRecord): Promise<Maker[]> => {
  const makers: Maker[] = []
  for (let at: NodeRecord | undefined = node; at?.spawned_by?.startsWith('node_'); ) {
    at = await nodes.find(reader, at.spawned_by)
    if (at) makers.push({ node_id: at.id, cwd: at.cwd, scopes: at.scopes })
  }
  return makers
}
