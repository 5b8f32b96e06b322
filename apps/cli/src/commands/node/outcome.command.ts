import type { Command } from 'commander'
import { command, performs } from '../../invocation.js'
import { failUnlessDone, printOutcome } from '../../node/outcome.view.js'
import type { Shell } from '../../shell.js'

export const registerOutcome = (node: Command, shell: Shell): void => {
  const made = command(node, 'outcome <id>', {
    calls: ['nodes.outcome'],
    summary: 'Read how the present piece of work ended',
    examples: [
      ['svc node outcome <id>', 'as of now'],
      ['svc node outcome <id> --wait', 'wait for the end, however long it takes'],
    ],
  }).option('--wait', 'wait until it is settled')
  performs<{ wait?: boolean }>(made, shell, async ({ client, out, json, options }, id = '') => {
    const { nodes } = await client()
    const outcome = options.wait ? await nodes.waitForOutcome(id) : await nodes.outcome(id)
    if (json) out.json(outcome)
    else printOutcome(outcome, out)
    if (options.wait) failUnlessDone(outcome)
  })
}
