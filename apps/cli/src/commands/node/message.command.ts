import type { Command } from 'commander'
import type { MessageBody } from '#sdk/index.js'
import { textOf } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

const said = {
  live: 'It is at work and reads it soon.',
  queued: 'It waits in the queue.',
  revived: 'The node starts again for it.',
}

export const registerMessage = (node: Command, shell: Shell): void => {
  const made = command(node, 'message <id> <text>', {
    summary: 'Send a node a message; one that is idle or has ended starts again',
    examples: [
      ['svc node message <id> "also check the tests"', 'one more thing'],
      ['svc node message <id> - --tier urgent < note.md', 'a text from standard input, read at the next step'],
    ],
  }).option('--tier <tier>', 'critical, urgent, normal or deferred; normal unless given')
  performs<{ tier?: MessageBody['tier'] }>(made, shell, async ({ client, out, json, options }, id = '', text = '') => {
    const body = await textOf(text, 'the message')
    const receipt = await (await client()).nodes.message(id, { body, ...(options.tier && { tier: options.tier }) })
    if (json) out.json(receipt)
    else out.line(`${receipt.message_id}  ${said[receipt.delivered] ?? receipt.delivered}`)
  })
}
