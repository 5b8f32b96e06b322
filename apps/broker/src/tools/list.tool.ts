import { lstat, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { ConfinedFiles } from './confined.path.js'
import { textOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const entriesAtMost = 1000

const described = async (directory: string, name: string): Promise<string> => {
  try {
    const stat = await lstat(join(directory, name))
    if (stat.isDirectory()) return `${name}/`
    if (stat.isSymbolicLink()) return `${name} -> ${await readlink(join(directory, name))}`
    return stat.isFile() ? `${name}  ${stat.size}` : `${name}  (special)`
  } catch {
    return `${name}  (gone meanwhile)`
  }
}

export const listTool = (files: ConfinedFiles): Tool => ({
  name: 'list',
  description: `Lists a directory: directories end in a slash, files show their size in bytes. At most ${entriesAtMost} entries. To find files by name in the tree below use search with \`glob\`.`,
  inputSchema: schemaOf({ path: { type: 'string', description: 'The working directory unless given' } }, []),
  acts: true,
  async run(input) {
    const path = textOf(input, 'path', '.')
    const real = await files.existing(path)
    let names: string[]
    try {
      names = (await readdir(real)).sort()
    } catch (error) {
      throw new ToolError(
        (error as NodeJS.ErrnoException).code === 'ENOTDIR'
          ? `${path} is a file: use read.`
          : `${path}: ${(error as Error).message}`,
      )
    }
    if (!names.length) return { output: `${path} is empty.` }
    const lines = await Promise.all(names.slice(0, entriesAtMost).map((name) => described(real, name)))
    const rest = names.length - lines.length
    return {
      output:
        lines.join('\n') +
        (rest > 0 ? `\n[… ${rest} more entries left out: narrow it down with search or bash …]` : ''),
    }
  },
})
