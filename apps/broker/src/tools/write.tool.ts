import type { FileState } from '#machine/files/file.state.js'
import type { ConfinedFiles } from './confined.path.js'
import { wholeFileLimit } from './file.content.js'
import type { SeenFiles } from './file.seen.js'
import { pathOf, textOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const lineCount = (text: string): string => {
  const count = text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  return `${count} line${count === 1 ? '' : 's'}`
}

/** @throws ToolError when the file holds what the node doesn't know of */
const requireKnown = (known: ReturnType<SeenFiles['knows']>, path: string): void => {
  if (known === 'current') return
  const why =
    known === 'never'
      ? 'exists, and you have not read it since this work was taken up'
      : 'was changed by something else since you read it'
  throw new ToolError(
    `${path} ${why}; nothing was written. Read it first, so that nothing is lost that you don't know of; then write it again, or change a part of it with edit.`,
  )
}

export const writeTool = (files: ConfinedFiles, seen: SeenFiles): Tool => ({
  name: 'write',
  description:
    'Writes a file as a whole: makes it, with the directories above it, or replaces what it held. A file that exists must have been read before. To change a part of a file use edit.',
  inputSchema: schemaOf(
    {
      path: { type: 'string', description: 'Absolute, or relative to the working directory' },
      content: { type: 'string', description: 'All that the file is to hold' },
    },
    ['path', 'content'],
  ),
  acts: true,
  async run(input) {
    const path = pathOf(input, 'path')
    const content = textOf(input, 'content')
    return files.change(async () => {
      let before: FileState | undefined
      const written = await files.write(path, content, {
        limit: wholeFileLimit,
        check: (now, at) => {
          before = now
          if (now?.size) requireKnown(seen.knows(at, now), path)
        },
      })
      seen.remember(written.path, written)
      const was = before ? `, ${before.size} bytes before` : ''
      const done = written.created ? 'Created' : 'Replaced'
      return { output: `${done} ${path} (${lineCount(content)}, ${written.size} bytes${was}).` }
    })
  },
})
