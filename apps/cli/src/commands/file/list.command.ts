import type { Command } from 'commander'
import type { FileEntry } from '#sdk/index.js'
import { wholeNumber } from '../../input.js'
import { command, performs } from '../../invocation.js'
import { oneLine, table } from '../../output/table.js'
import type { Shell } from '../../shell.js'
import { absolute } from './file.path.js'

interface ListOptions {
  readonly limit?: number
  readonly after?: string
  readonly all?: boolean
}

export const registerList = (file: Command, shell: Shell): void => {
  const made = command(file, 'list [path]', {
    calls: ['files.list'],
    summary: 'List a directory by name',
    examples: [
      ['svc file list', 'where you are'],
      ['svc file list --all --json /var/log', 'every entry, one record a line'],
    ],
  })
    .option('--after <cursor>', 'the page after this cursor')
    .option('--limit <number>', 'entries a page, 1 to 1,000', wholeNumber)
    .option('--all', 'every page')
  performs<ListOptions>(made, shell, async ({ client, out, json, options }, path = '.') => {
    const { limit, after, all } = options
    const entries = (await client()).files.list({
      path: absolute(path),
      ...(after !== undefined && { after }),
      ...(limit !== undefined && { limit }),
    })
    if (all) {
      // A directory may have any number of entries: they are printed as they come.
      for await (const entry of entries) json ? out.record(entry) : out.line(lineOf(entry))
      return
    }
    const page = await entries.page
    if (json) return out.json(page)
    out.line(table(['MODE', 'SIZE', 'CHANGED', 'NAME'], page.data.map(cellsOf)))
    if (page.has_more) out.note('there are more: --all lists every one')
  })
}

const marks: Readonly<Record<FileEntry['type'], string>> = { file: '', directory: '/', symlink: '', other: '' }

const cellsOf = ({ mode, size, mtime, name, type, target }: FileEntry): string[] => [
  mode,
  String(size),
  mtime.slice(0, 16).replace('T', ' '),
  `${name}${marks[type]}${target === undefined ? '' : ` -> ${target}`}`,
]

const lineOf = (entry: FileEntry): string => cellsOf(entry).map(oneLine).join('  ')
