import type { Command } from 'commander'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerCancel = (node: Command, shell: Shell): void => {
  const made = command(node, 'cancel <id>', {
    calls: ['nodes.cancel'],
    summary: 'Cancel a node for good, with all below it that nobody else watches',
    about: 'A node below it that somebody outside watches is spared: it goes on, and is listed.',
  })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    const result = await (await client()).nodes.cancel(id)
    if (json) return out.json(result)
    for (const canceled of result.canceled) out.line(`${canceled}  canceled`)
    for (const spared of result.spared) out.line(`${spared}  spared: somebody else watches it, or a node above it`)
  })
}
