import type { ConfinedFiles } from './confined.path.js'
import { ListedTree } from './list.tree.js'
import { withNearNames } from './near.names.js'
import { pathOf, wholeOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const depthUnlessGiven = 2
const deepest = 5

/** Whether it is a file after all: then there is a better tool. */
const isFile = async (files: ConfinedFiles, path: string): Promise<boolean> =>
  files.openToRead(path).then(
    async (file) => {
      await file.close()
      return true
    },
    () => false,
  )

export const listTool = (files: ConfinedFiles): Tool => ({
  name: 'list',
  description: `Lists a directory and what lies in it, ${depthUnlessGiven} levels deep unless \`depth\` is given: directories end in a slash, files show their size in bytes. What ignore files name is shown but not gone into. To find files by name use glob.`,
  inputSchema: schemaOf(
    {
      path: { type: 'string', description: 'The working directory unless given' },
      depth: { type: 'integer', minimum: 1, maximum: deepest, description: 'Levels; 1 for the directory alone' },
    },
    [],
  ),
  acts: true,
  async run(input, { signal }) {
    const path = pathOf(input, 'path', '.')
    const depth = wholeOf(input, 'depth', { min: 1, max: deepest, whenAbsent: depthUnlessGiven })
    try {
      const lines = await withNearNames(files, path, () => new ListedTree(files, { path, depth, signal }).lines())
      return { output: lines.length ? lines.join('\n') : `${path} is empty.` }
    } catch (error) {
      if (error instanceof ToolError && (await isFile(files, path))) throw new ToolError(`${path} is a file: use read.`)
      throw error
    }
  },
})
