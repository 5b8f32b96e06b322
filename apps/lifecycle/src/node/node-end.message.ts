import { type CallOf, contract } from '#common/contract/index.js'
import type { OutboxMessage } from '#common/kernel/database/tx.js'
import type { NodeRecord } from './node.record.js'

const ended = contract['scheduler.node.ended']
const succeeded = contract['scheduler.node.succeeded']
type Ended = CallOf<typeof ended>
type Succeeded = CallOf<typeof succeeded>

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

/** Tells the scheduler that a root has given its place to another, which it does once: the schedules go on with that one. */
export const nodeSucceeded = (from: string, to: string, at: Date): OutboxMessage => {
  const key = `${succeeded.name}:${from}:${to}`
  const payload: Succeeded = { source_event: key, from, to, at: at.toISOString() }
  return { key, target: succeeded.service, type: succeeded.name, payload }
}
