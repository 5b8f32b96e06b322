import { isUtf8 } from 'node:buffer'
import type { Command } from 'commander'
import type { FileWrite } from '#sdk/index.js'
import { UsageError } from '../../failure.js'
import { standardBytes } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'
import { absolute } from './file.path.js'

interface WriteCommandOptions {
  readonly ifMatch?: string
  readonly createOnly?: boolean
  readonly parents?: boolean
}

export const registerWrite = (file: Command, shell: Shell): void => {
  const made = command(file, 'write <path> [text]', {
    calls: ['files.write'],
    summary: 'Write a whole file from standard input, or from a text',
    about: 'The file is replaced as a whole or not at all, and keeps its permissions. At most 1 MiB.',
    examples: [
      ['svc file write notes.md < draft.md', 'from standard input'],
      ['svc file write --create-only --parents run/lock "mine"', 'only if nothing is there'],
      ['svc file write --if-match <etag> notes.md - < draft.md', 'only if nobody changed it since it was read'],
    ],
  })
    .option('--if-match <etag>', 'only if the file is in this state; * for: only if there is one')
    .option('--create-only', 'only if there is no file yet')
    .option('--parents', 'make missing directories on the way')
  performs<WriteCommandOptions>(made, shell, async ({ client, out, json, options }, path = '', text) => {
    if (text === undefined && process.stdin.isTTY)
      throw new UsageError('there is nothing to write', 'give a text, or send the content to standard input')
    const bytes = text === undefined || text === '-' ? await standardBytes() : Buffer.from(text)
    const { ifMatch, createOnly, parents } = options
    const body: FileWrite = {
      path: absolute(path),
      ...(isUtf8(bytes) ? { content: bytes.toString() } : { base64: bytes.toString('base64') }),
      ...(ifMatch !== undefined && { if_match: ifMatch }),
      ...(createOnly && { create_only: true }),
      ...(parents && { parents: true }),
    }
    const written = await (await client()).files.write(body)
    if (json) out.json(written)
    else out.line(`${written.created ? 'created' : 'replaced'} ${written.path} (${written.size} bytes)`)
  })
}
