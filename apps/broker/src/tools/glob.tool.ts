import type { ConfinedFiles } from './confined.path.js'
import { globsOf, pageOf, placeOf, type Searches } from './search.run.js'
import { flagOf, pathOf, textOf, wholeOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const filesAtMost = 1000
const filesUnlessGiven = 200

export const globTool = (files: ConfinedFiles, searches: Searches): Tool => ({
  name: 'glob',
  description: `Finds files by name, the last changed first. Answers paths relative to the working directory. Left out, unless asked for, are hidden files and what ignore files name. At most ${filesUnlessGiven} files unless \`limit\` is given: go on with \`offset\`.`,
  inputSchema: schemaOf(
    {
      pattern: { type: 'string', description: 'Counted from `path`: *.ts fits at any depth, src/**/*.json below src' },
      path: { type: 'string', description: 'Directory to look in; the working directory unless given' },
      hidden: { type: 'boolean', description: 'Hidden files too' },
      ignored: { type: 'boolean', description: 'Ignored files too, node_modules among them' },
      limit: { type: 'integer', minimum: 1, maximum: filesAtMost },
      offset: { type: 'integer', minimum: 0, description: 'Files to pass over' },
    },
    ['pattern'],
  ),
  acts: true,
  async run(input, { signal }) {
    const pattern = textOf(input, 'pattern')
    if (!pattern) throw new ToolError('"pattern" is empty: give a glob, **/* for all files.')
    const place = await placeOf(files, pathOf(input, 'path', '.'))
    if (place.file !== undefined) throw new ToolError('"path" is a file: give the directory to look in.')
    const query = {
      ...place,
      pattern: undefined,
      ...{ fixed: false, ignoreCase: false, multiline: false, mode: 'files' as const, type: undefined },
      ...{ before: 0, after: 0 },
      globs: globsOf(pattern),
      hidden: flagOf(input, 'hidden'),
      ignored: flagOf(input, 'ignored'),
      offset: wholeOf(input, 'offset', { min: 0, max: 1_000_000, whenAbsent: 0 }),
      limit: wholeOf(input, 'limit', { min: 1, max: filesAtMost, whenAbsent: filesUnlessGiven }),
    }
    return { output: pageOf(await searches.run(query, signal), query, 'files') }
  },
})
