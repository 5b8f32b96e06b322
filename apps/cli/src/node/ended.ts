import type { Client } from '#sdk/index.js'

const endings: readonly string[] = ['node.done', 'node.dead', 'node.canceled']

/**
 * Whether this event is the last one for now. A node that ended before and was given new work has such events in the
 * middle of its past, so the node itself is asked.
 */
export const hasEnded = async (
  client: Client,
  id: string,
  event: { type: string; subject?: unknown },
): Promise<boolean> => {
  if (!endings.includes(event.type) || event.subject !== id) return false
  const { status } = await client.nodes.retrieve(id)
  return status === event.type.slice('node.'.length)
}
