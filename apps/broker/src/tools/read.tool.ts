import type { FileHandle } from 'node:fs/promises'
import { stateOf } from '#machine/files/file.state.js'
import type { ConfinedFiles } from './confined.path.js'
import { beginning, binaryKindOf, imageTypeOf } from './file.kind.js'
import type { SeenFiles } from './file.seen.js'
import { withNearNames } from './near.names.js'
import { imageAnswer } from './read.image.js'
import { readLines } from './read.lines.js'
import { pathOf, wholeOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError, type ToolResult } from './tool.js'

const linesAtOnce = 2000

const startOf = async (file: FileHandle): Promise<Buffer> => {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(beginning), 0, beginning, 0)
  return buffer.subarray(0, bytesRead)
}

export const readTool = (files: ConfinedFiles, seen: SeenFiles): Tool => ({
  name: 'read',
  description: `Reads a text file, or shows an image (PNG, JPEG, GIF, WebP) as an image. Lines come numbered from 1, number and tab first, which are not part of the file. At most ${linesAtOnce} lines at once: go on with \`offset\`.`,
  inputSchema: schemaOf(
    {
      path: { type: 'string', description: 'Absolute, or relative to the working directory' },
      offset: { type: 'integer', minimum: 1, description: 'Number of the first line to read; 1 unless given' },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: linesAtOnce,
        description: `Lines to read; ${linesAtOnce} unless given`,
      },
    },
    ['path'],
  ),
  acts: true,
  async run(input, { signal }): Promise<ToolResult> {
    const path = pathOf(input, 'path')
    const offset = wholeOf(input, 'offset', { min: 1, max: Number.MAX_SAFE_INTEGER, whenAbsent: 1 })
    const limit = wholeOf(input, 'limit', { min: 1, max: linesAtOnce, whenAbsent: linesAtOnce })
    await using file = await withNearNames(files, path, () => files.openToRead(path))
    const state = stateOf(await file.stat({ bigint: true }))
    seen.remember(await files.existing(path), state)
    const { size } = state
    if (size === 0) return { output: `${path} is empty.` }
    const start = await startOf(file)
    const image = imageTypeOf(start)
    if (image) return await imageAnswer(file, { path, size, type: image }, signal)
    const binary = binaryKindOf(start)
    if (binary) throw new ToolError(`${path} is a binary file (${size} bytes): ${binary}.`)
    return { output: await readLines(file, { path, size, offset, limit }, signal) }
  },
})
