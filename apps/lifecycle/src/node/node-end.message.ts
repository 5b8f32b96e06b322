import { type CallOf, contract } from '#common/contract/index.js'
import type { OutboxMessage } from '#common/kernel/database/tx.js'
import type { NodeRecord } from './node.record.js'

const ended = contract['scheduler.node.ended']
type Ended = CallOf<typeof ended>

/**
 * Tells the scheduler, whose schedules go with their node, how a node ended: each end once, as each raises the version.
 *
 * @param node as it is after that
 */
export const nodeEnded = (
  { id, version, updated_at }: Pick<NodeRecord, 'id' | 'version' | 'updated_at'>,
  how: Ended['how'],
): OutboxMessage => {
  const key = `${ended.name}:${id}:${how}:${version}`
  const payload: Ended = { source_event: key, node_id: id, how, ended_at: updated_at.toISOString() }
  return { key, target: ended.service, type: ended.name, payload }
}
