import type { Command } from 'commander'
import type { FileContent } from '#sdk/index.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import type { Shell } from '../../shell.js'
import { absolute } from './file.path.js'

interface ReadOptions {
  readonly offset?: number
  readonly limit?: number
  readonly all?: boolean
}

export const registerRead = (file: Command, shell: Shell): void => {
  const made = command(file, 'read <path>', {
    calls: ['files.read'],
    summary: 'Print a file, or a piece of it',
    about: 'At most 256 KiB are read at once; what follows is said on standard error. Bytes are printed as they are.',
    examples: [
      ['svc file read notes.md', 'its first 256 KiB'],
      ['svc file read --all /var/log/app.log', 'all of it'],
      ['svc file read --offset 4096 --limit 100 --json data.bin', 'a piece, with what is known of the file'],
    ],
  })
    .option('--offset <bytes>', 'byte to begin at', wholeNumber)
    .option('--limit <bytes>', 'bytes at most, 4 to 262,144', wholeNumber)
    .option('--all', 'to the end of the file, piece by piece')
  performs<ReadOptions>(made, shell, async ({ client, out, json, options }, path = '') => {
    const { offset = 0, limit, all } = options
    const { files } = await client()
    for (let from: number | null = offset; from !== null; ) {
      const piece: FileContent = await files.read({ path: absolute(path), offset: from, ...(limit && { limit }) })
      if (json && all) out.record(piece)
      else if (json) out.json(piece)
      else out.bytes(bytesOf(piece))
      from = all ? piece.next_offset : null
      if (!all && piece.truncated) out.note(`there is more: --offset ${piece.next_offset}, or --all`)
    }
  })
}

const bytesOf = ({ content, base64 }: FileContent): Buffer =>
  content === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(content)
