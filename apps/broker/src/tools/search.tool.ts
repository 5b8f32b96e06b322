import type { ToolProcesses } from '../process/tool-process.js'
import type { ConfinedFiles } from './confined.path.js'
import { expressionOf, matchesAtMost, type SearchAnswer, type SearchQuery } from './search.query.js'
import { ripgrep, searchWithRipgrep } from './search.ripgrep.js'
import { searchInThread } from './search.worker.js'
import { flagOf, optionalTextOf, textOf } from './tool.input.js'
import { schemaOf, type Tool, ToolError } from './tool.js'

const characters = 40_000

const shown = ({ lines, more }: SearchAnswer): string => {
  let output = ''
  let count = 0
  for (const line of lines) {
    if (output.length + line.length > characters) break
    output += `${line}\n`
    count += 1
  }
  return more || count < lines.length
    ? `${output}[… more matches left out: narrow it down by path, glob or pattern …]`
    : output.trimEnd()
}

export const searchTool = (files: ConfinedFiles, processes: ToolProcesses): Tool => ({
  name: 'search',
  description: `Searches the files of a tree. With \`pattern\` (a regular expression, line by line) it answers path:line:text; with \`glob\` alone the paths of the files that fit. At most ${matchesAtMost} matches. Left out are .git, node_modules, binary files and, where ripgrep is installed, what git ignores: look there with bash.`,
  inputSchema: schemaOf(
    {
      pattern: { type: 'string', description: 'Regular expression to find in lines' },
      path: { type: 'string', description: 'Directory or file to search; the working directory unless given' },
      glob: { type: 'string', description: 'Only files like this, counted from `path`: *.ts, src/**/*.json' },
      ignore_case: { type: 'boolean' },
    },
    [],
  ),
  acts: true,
  async run(input, { signal }) {
    const pattern = optionalTextOf(input, 'pattern')
    const glob = optionalTextOf(input, 'glob')
    if (!pattern && !glob)
      throw new ToolError('Give a "pattern" to find in files, a "glob" to find files by name, or both.')
    const path = textOf(input, 'path', '.')
    const query: SearchQuery = {
      root: await files.existing(path),
      pattern: pattern || undefined,
      glob: glob || undefined,
      ignoreCase: flagOf(input, 'ignore_case'),
    }
    const program = ripgrep()
    // Checked here too: a thread's error would lose what it says about the expression.
    if (!program) expressionOf(query)
    const quick = program ? await searchWithRipgrep(processes, program, query, signal) : undefined
    const answer = quick ?? (await searchInThread(query, signal))
    return { output: answer.lines.length ? shown(answer) : `Nothing found in ${path}.` }
  },
})
