import type { ConfinedFiles } from './confined.path.js'
import { isLowerCase, type SearchMode } from './search.query.js'
import { globsOf, pageOf, placeOf, type Searches } from './search.run.js'
import { choiceOf, flagOf, optionalTextOf, pathOf, textOf, wholeOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const matchesAtMost = 1000
const matchesUnlessGiven = 200
const contextAtMost = 50
const cases = ['sensitive', 'insensitive', 'smart'] as const
const modes: readonly SearchMode[] = ['lines', 'files', 'count']
const what: Readonly<Record<SearchMode, string>> = { lines: 'matches', files: 'files', count: 'files' }

const context = { type: 'integer', minimum: 0, maximum: contextAtMost }
const around = (input: Record<string, unknown>, field: 'before' | 'after'): number => {
  const bounds = { min: 0, max: contextAtMost }
  const both = wholeOf(input, 'context', { ...bounds, whenAbsent: 0 })
  return wholeOf(input, field, { ...bounds, whenAbsent: both })
}

const patternOf = (input: Record<string, unknown>): string => {
  const pattern = textOf(input, 'pattern', '')
  if (!pattern) throw new ToolError('"pattern" is missing: give what to find in files. To find files by name use glob.')
  if (pattern.includes('\0')) throw new ToolError('"pattern" holds a zero byte.')
  return pattern
}

export const searchTool = (files: ConfinedFiles, searches: Searches): Tool => ({
  name: 'search',
  description: `Searches the text of files with a regular expression (ripgrep). Answers path:line:text, with paths relative to the working directory. Left out, unless asked for, are hidden files and what ignore files name; binary files always. At most ${matchesUnlessGiven} matches unless \`limit\` is given: go on with \`offset\`.`,
  inputSchema: schemaOf(
    {
      pattern: { type: 'string', description: 'Regular expression, for one line unless `multiline` is set' },
      path: { type: 'string', description: 'Directory or file to search; the working directory unless given' },
      glob: {
        type: 'string',
        description: 'Only files like this, counted from `path`: *.ts, src/**/*.json, !*.min.js',
      },
      type: { type: 'string', description: 'Only files of this type: ts, py, rust, md …' },
      mode: {
        type: 'string',
        enum: modes,
        description: 'lines (unless given), files: only the paths, count: matching lines of each file',
      },
      case: {
        type: 'string',
        enum: cases,
        description: 'sensitive unless given; smart: by whether pattern has capitals',
      },
      fixed: { type: 'boolean', description: 'The pattern is plain text' },
      multiline: { type: 'boolean', description: 'A match may span lines; . fits line ends too' },
      before: { ...context, description: 'Lines to show before each match' },
      after: { ...context, description: 'Lines to show after each match' },
      context: { ...context, description: 'Lines to show before and after' },
      hidden: { type: 'boolean', description: 'Search hidden files too' },
      ignored: { type: 'boolean', description: 'Search ignored files too, node_modules among them' },
      limit: { type: 'integer', minimum: 1, maximum: matchesAtMost },
      offset: { type: 'integer', minimum: 0, description: 'Matches to pass over' },
    },
    ['pattern'],
  ),
  acts: true,
  async run(input, { signal }) {
    const pattern = patternOf(input)
    const mode = choiceOf(input, 'mode', modes, 'lines')
    const letters = choiceOf(input, 'case', cases, 'sensitive')
    const fixed = flagOf(input, 'fixed')
    const options = {
      pattern,
      fixed,
      mode,
      ignoreCase: letters === 'insensitive' || (letters === 'smart' && isLowerCase(pattern, fixed)),
      multiline: flagOf(input, 'multiline'),
      globs: globsOf(optionalTextOf(input, 'glob')),
      type: optionalTextOf(input, 'type') || undefined,
      before: around(input, 'before'),
      after: around(input, 'after'),
      hidden: flagOf(input, 'hidden'),
      ignored: flagOf(input, 'ignored'),
      offset: wholeOf(input, 'offset', { min: 0, max: 1_000_000, whenAbsent: 0 }),
      limit: wholeOf(input, 'limit', { min: 1, max: matchesAtMost, whenAbsent: matchesUnlessGiven }),
    }
    const query = { ...(await placeOf(files, pathOf(input, 'path', '.'))), ...options }
    return { output: pageOf(await searches.run(query, signal), query, what[mode]) }
  },
})
