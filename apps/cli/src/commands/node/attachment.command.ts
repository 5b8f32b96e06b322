import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { AttachmentContent } from '#sdk/index.js'
import { CommandError } from '../../failure.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'

export const registerAttachment = (node: Command, shell: Shell): void => {
  const made = command(node, 'attachment <id> <attachment>', {
    calls: ['nodes.attachments.retrieve'],
    summary: 'Print what a message or report carries, or keep it as a file',
    examples: [['svc node attachment <id> <attachment> --output screen.png', 'as a new file']],
  }).option('-o, --output <file>', 'a new file; one that exists is left as it is')
  performs<{ output?: string }>(made, shell, async ({ client, out, json, options }, id = '', attachment = '') => {
    const path = `/v1/nodes/${encodeURIComponent(id)}/attachments/${encodeURIComponent(attachment)}`
    const found = await (await client()).request<AttachmentContent>('GET', path)
    const content = Buffer.from(found.base64, 'base64')
    if (options.output !== undefined) keep(options.output, content)
    if (json) out.json(found)
    else if (options.output !== undefined) out.note(`${content.length} bytes of ${found.content_type}`)
    else out.bytes(content)
  })
}

/** @throws CommandError */
const keep = (path: string, content: Buffer): void => {
  try {
    writeFileSync(path, content, { flag: 'wx' })
  } catch (error) {
    throw new CommandError(`cannot write ${path}: ${(error as Error).message}`)
  }
}
