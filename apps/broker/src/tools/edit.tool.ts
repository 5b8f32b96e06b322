import type { ConfinedFiles } from './confined.path.js'
import { changed, type TextChange } from './edit.change.js'
import { readWhole, wholeFileLimit } from './file.content.js'
import { type SeenFiles, stampOf } from './file.seen.js'
import { withNearNames } from './near.names.js'
import { diffOf } from './text.diff.js'
import { flagOf, listOf, pathOf, refuseUnknown, textOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const editsAtOnce = 100

const fields = {
  old_text: { type: 'string', description: 'The text to replace, exactly as it is in the file' },
  new_text: { type: 'string', description: 'What stands there afterwards; empty to delete it' },
  replace_all: { type: 'boolean', description: 'Replace every occurrence' },
}
const known = Object.keys(fields)

const changeOf = (input: Record<string, unknown>): TextChange => ({
  old: textOf(input, 'old_text'),
  new: textOf(input, 'new_text'),
  all: flagOf(input, 'replace_all'),
})

const inList = (given: unknown, at: number): TextChange => {
  const where = `edits[${at}]`
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new ToolError(`${where} must be an object with ${known.join(', ')}. Nothing was changed.`)
  const input = given as Record<string, unknown>
  refuseUnknown(input, known, where)
  try {
    return changeOf(input)
  } catch (error) {
    throw new ToolError(`${where}: ${(error as Error).message} Nothing was changed.`)
  }
}

const changesOf = (input: Record<string, unknown>): TextChange[] => {
  if (input.edits === undefined || input.edits === null) return [changeOf(input)]
  if (known.some((field) => input[field] !== undefined))
    throw new ToolError('Give either "edits" or "old_text" and "new_text", not both.')
  return listOf(input, 'edits', editsAtOnce).map(inList)
}

export const editTool = (files: ConfinedFiles, seen: SeenFiles): Tool => ({
  name: 'edit',
  description:
    'Replaces exact pieces of text in a file. `old_text` must occur exactly once, white space included, unless `replace_all` is set; take it from what read shows, without the line numbers. Several changes of one file go into `edits`: made in order, all or none. Answers what changed.',
  inputSchema: schemaOf(
    {
      path: { type: 'string', description: 'Absolute, or relative to the working directory' },
      ...fields,
      edits: {
        type: 'array',
        maxItems: editsAtOnce,
        description: 'Several changes instead of one',
        items: schemaOf(fields, ['old_text', 'new_text']),
      },
    },
    ['path'],
  ),
  acts: true,
  async run(input) {
    const path = pathOf(input, 'path')
    const changes = changesOf(input)
    const where = (at: number): string => (changes.length > 1 ? `edits[${at}]: ` : '')
    return files.change(async () => {
      const before = await withNearNames(files, path, () => readWhole(files, path))
      const text = changes.reduce((so, change, at) => changed(path, so, change, where(at)), before.text)
      if (text === before.text) throw new ToolError('These edits undo each other: nothing was changed.')
      const known = seen.knows(before.path, before.state)
      const written = await files.write(path, text, {
        limit: wholeFileLimit,
        check: (now) => {
          if (!now || stampOf(now) !== stampOf(before.state))
            throw new ToolError(`${path} was changed by something else meanwhile; nothing was changed. Read it again.`)
        },
      })
      // What was not known before isn't known by a change of one piece of it.
      if (known === 'current') seen.remember(written.path, written)
      const { added, removed, text: diff } = diffOf(before.text, text)
      return { output: `Changed ${path} (+${added} −${removed} lines):\n${diff}` }
    })
  },
})
