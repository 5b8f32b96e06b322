import type { Command } from 'commander'
import { UsageError } from '../../failure.js'
import { jsonOf } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerResult = (node: Command, shell: Shell): void => {
  const made = command(node, 'result <json>', {
    calls: ['nodes.result.submit'],
    summary: 'Submit the typed result of a node, exactly once',
    about: "The value is JSON: itself, @file, or - for standard input. Inside a node it is that node's.",
    examples: [
      [`svc node result '{"count": 3}'`, 'as the node that this runs in'],
      ['svc node result @answer.json --id <id>', 'for a node, as its owner'],
    ],
  }).option('--id <id>', 'the node; the one that this runs in unless given')
  performs<{ id?: string }>(made, shell, async ({ client, out, json, options }, given = '') => {
    const id = options.id ?? shell.nodeId
    if (id === undefined) throw new UsageError('which node?', 'name it with --id: this does not run inside one')
    const value = await jsonOf(given, 'the result')
    const outcome = await (await client()).nodes.result.submit(id, { value })
    if (json) out.json(outcome)
    else out.line(`The result of ${outcome.node_id} is accepted.`)
  })
}
