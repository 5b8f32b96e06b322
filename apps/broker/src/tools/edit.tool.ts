import type { ConfinedFiles } from './confined.path.js'
import { readWhole, writeWhole } from './file.content.js'
import { flagOf, textOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const shownMatches = 10

const positionsOf = (text: string, part: string): number[] => {
  const found: number[] = []
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + part.length)) found.push(at)
  return found
}

const lineAt = (text: string, position: number): number => {
  let line = 1
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) line += 1
  return line
}

const squeezed = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** Why a text that looks right isn't there: most often its white space, or line numbers copied with it. */
const hintFor = (text: string, wanted: string): string => {
  if (/^\s*\d+\t/m.test(wanted)) return ' It seems to hold the line numbers that read shows: leave them out.'
  const lines = text.split('\n')
  const [first = ''] = wanted.split('\n').map(squeezed).filter(Boolean)
  const near = first ? lines.findIndex((line) => squeezed(line) === first) : -1
  if (near >= 0)
    return ` Line ${near + 1} is the same but for white space, or what follows it differs: read the file there and copy it exactly.`
  return ' Read the file again: it may have changed.'
}

/**
 * The text with one exact piece replaced.
 *
 * @throws ToolError when the piece isn't there, or is there several times and not all are meant.
 */
export const edited = (
  path: string,
  text: string,
  change: { old: string; new: string; all: boolean },
): { text: string; lines: number[] } => {
  if (change.old === '') throw new ToolError('"old_text" is empty: use write to make or replace a file.')
  if (change.old === change.new) throw new ToolError('"old_text" and "new_text" are the same: nothing to change.')
  const windows = text.includes('\r\n') && !change.old.includes('\r\n')
  const old = windows ? change.old.replaceAll('\n', '\r\n') : change.old
  const fresh = windows ? change.new.replaceAll('\n', '\r\n') : change.new
  const found = positionsOf(text, old)
  const lines = found.map((at) => lineAt(text, at))
  if (!found.length)
    throw new ToolError(`"old_text" does not occur in ${path}; nothing was changed.${hintFor(text, change.old)}`)
  if (found.length > 1 && !change.all) {
    const where = `${lines.slice(0, shownMatches).join(', ')}${lines.length > shownMatches ? ' …' : ''}`
    throw new ToolError(
      `"old_text" occurs ${found.length} times in ${path}, at lines ${where}; nothing was changed. Give more of the text around the one that you mean, or set "replace_all".`,
    )
  }
  return { text: text.split(old).join(fresh), lines }
}

export const editTool = (files: ConfinedFiles): Tool => ({
  name: 'edit',
  description:
    'Replaces an exact piece of text in a file. `old_text` must occur exactly once, white space included, unless `replace_all` is set; take it from what read shows, without the line numbers.',
  inputSchema: schemaOf(
    {
      path: { type: 'string', description: 'Absolute, or relative to the working directory' },
      old_text: { type: 'string', description: 'The text to replace, exactly as it is in the file' },
      new_text: { type: 'string', description: 'What stands there afterwards; empty to delete it' },
      replace_all: { type: 'boolean', description: 'Replace every occurrence' },
    },
    ['path', 'old_text', 'new_text'],
  ),
  acts: true,
  async run(input) {
    const path = textOf(input, 'path')
    const change = { old: textOf(input, 'old_text'), new: textOf(input, 'new_text'), all: flagOf(input, 'replace_all') }
    const lines = await files.change(async () => {
      const { text, lines } = edited(path, await readWhole(files, path), change)
      await writeWhole(files, path, text)
      return lines
    })
    return {
      output: `Changed ${path} at line${lines.length > 1 ? 's' : ''} ${lines.slice(0, shownMatches).join(', ')}${lines.length > shownMatches ? ` and ${lines.length - shownMatches} more` : ''}.`,
    }
  },
})
