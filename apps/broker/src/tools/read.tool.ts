import type { ConfinedFiles } from './confined.path.js'
import { linesOf, type TextLine } from './text.lines.js'
import { textOf, wholeOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const linesAtOnce = 2000
const charactersAtOnce = 50_000
const longestLine = 2000

const numbered = ({ number, text, omitted }: TextLine): string =>
  `${String(number).padStart(6)}\t${text}${omitted ? ` [… ${omitted} characters of this line left out …]` : ''}\n`

export const readTool = (files: ConfinedFiles): Tool => ({
  name: 'read',
  description: `Reads a text file. Lines come numbered from 1, number and tab first, which are not part of the file. At most ${linesAtOnce} lines and ${charactersAtOnce} characters at once: go on with \`offset\`.`,
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
  async run(input, { signal }) {
    const path = textOf(input, 'path')
    const offset = wholeOf(input, 'offset', { min: 1, max: Number.MAX_SAFE_INTEGER, whenAbsent: 1 })
    const limit = wholeOf(input, 'limit', { min: 1, max: linesAtOnce, whenAbsent: linesAtOnce })
    await using file = await files.openToRead(path)
    const { size } = await file.stat()
    if (size === 0) return { output: `${path} is empty.` }
    const { buffer, bytesRead } = await file.read(Buffer.alloc(8192), 0, 8192, 0)
    if (buffer.subarray(0, bytesRead).includes(0))
      throw new ToolError(`${path} is a binary file (${size} bytes): use bash to look into it.`)
    const content = file.createReadStream({ start: 0, autoClose: false, signal, encoding: 'utf8' })
    let last = 0
    let output = ''
    for await (const line of linesOf(content, longestLine)) {
      last = line.number
      if (last < offset) continue
      if (last >= offset + limit || (output && output.length + line.text.length > charactersAtOnce)) {
        return { output: `${output}[… more lines follow: go on with offset ${last} …]` }
      }
      output += numbered(line)
    }
    if (last < offset) throw new ToolError(`${path} has ${last} lines; offset ${offset} is beyond its end.`)
    return { output: output.trimEnd() }
  },
})
