import { hintFor } from './edit.hint.js'
import { ToolError } from './tool.js'

const shownMatches = 10

export interface TextChange {
  readonly old: string
  readonly new: string
  readonly all: boolean
}

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

const withEnds = (text: string, windows: boolean): string =>
  windows ? text.replaceAll(/\r?\n/g, '\r\n') : text.replaceAll('\r\n', '\n')

/** The lines of a file from Windows end otherwise than those that a model writes: the file's own are kept. */
const asInFile = (text: string, { old, new: fresh }: TextChange): { old: string; fresh: string } => {
  const windows = text.includes('\r\n')
  const mixed = windows && /(^|[^\r])\n/.test(text)
  if (text.includes(old)) return { old, fresh: mixed ? fresh : withEnds(fresh, windows) }
  for (const ends of [windows, !windows]) {
    const converted = withEnds(old, ends)
    if (text.includes(converted)) return { old: converted, fresh: withEnds(fresh, ends) }
  }
  return { old, fresh }
}

/**
 * The text with one exact piece replaced.
 *
 * @param where is put before what is said: which of several changes failed.
 * @throws ToolError when the piece isn't there, or is there several times and not all are meant.
 */
export const changed = (path: string, text: string, change: TextChange, where = ''): string => {
  if (change.old === '')
    throw new ToolError(`${where}"old_text" is empty: use write to make or replace a file. Nothing was changed.`)
  if (change.old === change.new)
    throw new ToolError(`${where}"old_text" and "new_text" are the same: nothing to change.`)
  const { old, fresh } = asInFile(text, change)
  const found = positionsOf(text, old)
  if (!found.length)
    throw new ToolError(
      `${where}"old_text" does not occur in ${path}; nothing was changed.${hintFor(text, change.old)}`,
    )
  if (found.length > 1 && !change.all) {
    const lines = found.slice(0, shownMatches).map((at) => lineAt(text, at))
    const more = found.length > shownMatches ? ' …' : ''
    throw new ToolError(
      `${where}"old_text" occurs ${found.length} times in ${path}, at lines ${lines.join(', ')}${more}; nothing was changed. Give more of the text around the one that you mean, or set "replace_all".`,
    )
  }
  return text.split(old).join(fresh)
}
