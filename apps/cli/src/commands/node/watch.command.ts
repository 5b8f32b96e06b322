import type { Command } from 'commander'
import { command, performs } from '../../invocation.js'
import { watchNode } from '../../node/watch.view.js'
import type { Shell } from '../../shell.js'

interface WatchOptions {
  readonly tree?: boolean
  readonly live?: boolean
}

export const registerWatch = (node: Command, shell: Shell): void => {
  const made = command(node, 'watch <id>', {
    calls: ['nodes.stream'],
    mayCall: ['nodes.retrieve'],
    summary: 'Show a node at work: its text as it comes, tools, reports, its end',
    about: 'Ctrl-C leaves the node alone.',
    examples: [
      ['svc node watch <id>', 'from its beginning'],
      ['svc node watch <id> --live --tree', 'from now on, with the nodes below it'],
    ],
  })
    .option('--tree', 'also the nodes below it')
    .option('--live', 'from now on only')
  performs<WatchOptions>(made, shell, async ({ client, out, json, options }, id = '') => {
    const { tree, live } = options
    await watchNode(await client(), out, { id, json, ...(tree && { tree }), ...(!live && { after: '0' }) })
  })
}
