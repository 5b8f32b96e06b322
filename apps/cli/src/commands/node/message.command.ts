import type { Command } from 'commander'
import type { MessageBody } from '#sdk/index.js'
import { attachmentsOf, textOf } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

const said = {
  live: 'It is at work and reads it soon.',
  queued: 'It waits in the queue.',
  revived: 'The node starts again for it.',
}

export const registerMessage = (node: Command, shell: Shell): void => {
  const made = command(node, 'message <id> <text>', {
    calls: ['nodes.message'],
    summary: 'Send a node a message; one that is idle or has ended starts again',
    examples: [
      ['svc node message <id> "also check the tests"', 'one more thing'],
      ['svc node message <id> "like this" --attach screen.png', 'with a picture'],
      ['svc node message <id> - --tier urgent < note.md', 'a text from standard input, read at the next step'],
    ],
  })
    .option('--tier <tier>', 'critical, urgent, normal or deferred; normal unless given')
    .option('--attach <file>', 'send a file with it; again for each', (path: string, before: string[] = []) => [
      ...before,
      path,
    ])
  performs<{ tier?: MessageBody['tier']; attach?: string[] }>(
    made,
    shell,
    async ({ client, out, json, options }, id = '', text = '') => {
      const body = await textOf(text, 'the message')
      const { tier, attach } = options
      const sent = { body, ...(tier && { tier }), ...(attach && { attachments: attachmentsOf(attach) }) }
      const receipt = await (await client()).nodes.message(id, sent)
      if (json) out.json(receipt)
      else out.line(`${receipt.message_id}  ${said[receipt.delivered] ?? receipt.delivered}`)
    },
  )
}
