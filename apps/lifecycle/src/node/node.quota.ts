import { nodeLimits } from '#common/contract/node.schema.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import type { NodeRecord } from './node.record.js'
import type { NodeRepository } from './node.repository.js'

/** @throws SvcError quota_exceeded */
export const requireDepth = (maker: Pick<NodeRecord, 'depth'>): void => {
  if (maker.depth + 1 <= nodeLimits.depth) return
  throw new SvcError('quota_exceeded', `Nodes nest at most ${nodeLimits.depth} deep.`, {
    limit: 'depth',
    max: nodeLimits.depth,
  })
}

/** @param parent is locked, so that its children can be counted. @throws SvcError quota_exceeded */
export const requireRoom = async (nodes: NodeRepository, reader: Reader, parent: NodeRecord): Promise<void> => {
  requireDepth(parent)
  if ((await nodes.childCount(reader, parent.id)) < nodeLimits.children) return
  throw new SvcError('quota_exceeded', `A node has at most ${nodeLimits.children} children.`, {
    limit: 'children',
    max: nodeLimits.children,
  })
}
