import { createHash } from 'node:crypto'
import type { NodeSession } from '../node/node.session.js'
import type { ToolRun } from './tool.js'

const plain = /^[\w.-]{1,120}$/

/**
 * The idempotency key of what a call asks of the daemon: the same for every repetition of it, by whatever process, so that
 * it takes effect once. Providers number calls as they like; a header doesn't take all of it.
 */
export const keyOf = ({ serve }: Pick<NodeSession, 'serve'>, { turn, callId }: Pick<ToolRun, 'turn' | 'callId'>) => {
  const call = plain.test(callId) ? callId : createHash('sha256').update(callId).digest('hex')
  return `${serve.node_id}.${turn}.${call}`
}
