import { after } from '#machine/clock.js'
import { OutputCapture } from '#machine/output/output.capture.js'
import type { ToolProcesses } from '../process/tool-process.js'
import { RipgrepOutput } from './ripgrep.output.js'
import { notAnExpression, type SearchAnswer, type SearchQuery, skipped, timeLimit, tooSlow } from './search.query.js'
import { ToolError } from './tool.js'

const argumentsOf = (query: SearchQuery): [string, ...string[]] => {
  const { pattern, mode, before, globs, type, file } = query
  const chosen = [
    ...globs.flatMap((glob) => ['--glob', glob]),
    // The last glob that fits decides, so these come last.
    ...skipped(query.ignored).flatMap((name) => ['--glob', `!${name}`]),
    ...(type === undefined ? [] : ['--type', type]),
    ...(query.hidden ? ['--hidden'] : []),
    ...(query.ignored ? ['--no-ignore'] : ['--no-require-git', '--no-ignore-global']),
  ]
  const common = ['rg', '--no-config', '--no-messages', '--color', 'never'] as const
  const where = file === undefined ? './' : `./${file}`
  if (pattern === undefined) return [...common, '--sortr', 'modified', ...chosen, '--files', '--null', where]
  const form = {
    lines: ['--json', '--before-context', String(before), '--after-context', String(query.after)],
    files: ['--files-with-matches', '--null'],
    count: ['--count', '--with-filename', '--null'],
  }[mode]
  return [
    ...common,
    '--sort',
    'path',
    '--crlf',
    ...chosen,
    ...form,
    ...(query.ignoreCase ? ['--ignore-case'] : ['--case-sensitive']),
    ...(query.multiline ? ['--multiline', '--multiline-dotall'] : []),
    ...(query.fixed ? ['--fixed-strings'] : ['--engine', 'auto']),
    '--regexp',
    pattern,
    where,
  ]
}

/** @throws ToolError that says what is wrong with the search */
const refused = (said: string, type: string | undefined): undefined => {
  if (/unrecognized file type/i.test(said))
    throw new ToolError(`ripgrep knows no type "${type?.slice(0, 40)}": see \`rg --type-list\`, or use glob.`)
  if (/regex parse error|PCRE2: error compiling|unclosed|look-around|backreference|not allowed in a regex/i.test(said))
    throw notAnExpression(said.slice(0, 1000))
  if (/error parsing glob/i.test(said)) throw new ToolError(`"glob" can't be read: ${said.slice(0, 500).trim()}`)
  // The place is nothing that the node's programs see.
  if (/no such file or directory/i.test(said)) return undefined
  throw new ToolError(`The search failed: ${said.slice(0, 1000).trim()}`)
}

/**
 * Searches with ripgrep, as one of the node's programs, so that it sees what they see. Answers nothing where they don't
 * see the place, and `absent` where they see no ripgrep.
 *
 * @throws ToolError when ripgrep refuses the search, or it takes too long; the signal's reason
 */
export const searchWithRipgrep = async (
  processes: ToolProcesses,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<SearchAnswer | 'absent' | undefined> => {
  signal.throwIfAborted()
  const errors = new OutputCapture({ head: 4000, tail: 0 })
  const output = new RipgrepOutput(query)
  let ending: Promise<void> | undefined
  const kill = (): void => {
    ending ??= running.kill(0)
  }
  const running = processes.start({
    argv: argumentsOf(query),
    cwd: query.directory,
    env: {},
    input: false,
    onStdout: (chunk) => {
      if (!output.full) output.add(chunk)
      if (output.full) kill()
    },
    onStderr: (chunk) => errors.add(chunk),
  })
  let late = false
  const callOff = after(timeLimit, () => {
    late = true
    kill()
  })
  signal.addEventListener('abort', kill, { once: true })
  const { code, refusal } = await running.ended
  callOff()
  signal.removeEventListener('abort', kill)
  await ending
  signal.throwIfAborted()
  if (late) throw tooSlow()
  if (refusal?.syscall === 'spawn' && refusal.code === 'ENOENT') return 'absent'
  if (refusal) return undefined
  if (code !== 0 && code !== 1 && !output.full && output.isEmpty) return refused(errors.text(), query.type)
  return output.answer
}
