import type { ConfinedFiles } from './confined.path.js'
import { writeWhole } from './file.content.js'
import { textOf } from './tool.input.js'
import { schemaOf, type Tool } from './tool.js'

export const writeTool = (files: ConfinedFiles): Tool => ({
  name: 'write',
  description:
    'Writes a file as a whole: makes it, with the directories above it, or replaces what it held. To change a part of a file use edit.',
  inputSchema: schemaOf(
    {
      path: { type: 'string', description: 'Absolute, or relative to the working directory' },
      content: { type: 'string', description: 'All that the file is to hold' },
    },
    ['path', 'content'],
  ),
  acts: true,
  async run(input) {
    const path = textOf(input, 'path')
    const content = textOf(input, 'content')
    const done = await files.change(() => writeWhole(files, path, content))
    return { output: `${done === 'created' ? 'Made' : 'Replaced'} ${path} (${Buffer.byteLength(content)} bytes).` }
  },
})
