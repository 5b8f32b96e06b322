import type { NodeSession } from '../node/node.session.js'
import { textOf } from './tool.input.js'
import { ToolError } from './tool.js'

const form = /^node_[0-9a-z]{26}$/

/** The id of another node. @throws ToolError */
export const nodeIdOf = (input: Record<string, unknown>, { serve }: NodeSession): string => {
  const id = textOf(input, 'node_id').trim()
  if (!form.test(id)) {
    throw new ToolError(
      `"node_id" must be the id of a node (node_…), not "${id.slice(0, 60)}". Ask nodes {"action":"list"} for the ids of those below you.`,
    )
  }
  if (id === serve.node_id) throw new ToolError('That is your own id: name another node.')
  return id
}
