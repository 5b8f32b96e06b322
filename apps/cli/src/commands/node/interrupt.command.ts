import type { Command } from 'commander'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerInterrupt = (node: Command, shell: Shell): void => {
  const made = command(node, 'interrupt <id>', {
    calls: ['nodes.interrupt'],
    summary: 'Abort the running turn; the node stays alive',
  })
  performs(made, shell, async ({ client, out, json }, id = '') => {
    const result = await (await client()).nodes.interrupt(id)
    if (json) out.json(result)
    else out.line(result.interrupted ? 'The turn is being aborted.' : 'No turn was running.')
  })
}
