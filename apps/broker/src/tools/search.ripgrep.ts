import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { after } from '#machine/clock.js'
import { OutputCapture } from '#machine/output/output.capture.js'
import type { ToolProcesses } from '../process/tool-process.js'
import {
  lineAtMost,
  matchesAtMost,
  type SearchAnswer,
  type SearchQuery,
  skipped,
  timeLimit,
  tooSlow,
} from './search.query.js'
import { ToolError } from './tool.js'

let found: string | null | undefined

/** The ripgrep of this machine, if it has one. */
export const ripgrep = (path = process.env.PATH ?? ''): string | null =>
  (found ??=
    path
      .split(delimiter)
      .map((directory) => join(directory, 'rg'))
      .find(isExecutable) ?? null)

const isExecutable = (file: string): boolean => {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const argumentsOf = ({ root, pattern, glob, ignoreCase }: SearchQuery): string[] => {
  const common = [
    '--no-config',
    '--hidden',
    '--no-messages',
    '--sort',
    'path',
    '--color',
    'never',
    ...skipped.flatMap((name) => ['--glob', `!**/${name}/**`]),
  ]
  const only = glob === undefined ? [] : ['--glob', glob]
  if (pattern === undefined) return [...common, ...only, '--files', root]
  const text = [
    '--line-number',
    '--no-heading',
    '--with-filename',
    '--max-columns',
    String(lineAtMost),
    '--max-columns-preview',
  ]
  return [...common, ...only, ...text, ...(ignoreCase ? ['--ignore-case'] : []), '--regexp', pattern, root]
}

/**
 * Answers nothing where the node's programs don't see ripgrep.
 *
 * @throws ToolError when ripgrep refuses the expression, or takes too long.
 */
export const searchWithRipgrep = async (
  processes: ToolProcesses,
  program: string,
  query: SearchQuery,
  signal: AbortSignal,
): Promise<SearchAnswer | undefined> => {
  const output = new OutputCapture({ head: 1024 * 1024, tail: 0 })
  const errors = new OutputCapture({ head: 2000, tail: 0 })
  const process = processes.start({
    argv: [program, ...argumentsOf(query)],
    // A glob with a slash in it counts from here.
    cwd: statSync(query.root).isDirectory() ? query.root : dirname(query.root),
    env: { PATH: '/usr/bin:/bin' },
    input: false,
    onStdout: (chunk) => {
      output.add(chunk)
      if (output.truncated) kill()
    },
    onStderr: (chunk) => errors.add(chunk),
  })
  let ending = false
  const kill = (): void => {
    if (!ending) void process.kill()
    ending = true
  }
  let late = false
  const callOff = after(timeLimit, () => {
    late = true
    kill()
  })
  if (signal.aborted) kill()
  signal.addEventListener('abort', kill, { once: true })
  const { code, refusal } = await process.ended
  callOff()
  signal.removeEventListener('abort', kill)
  signal.throwIfAborted()
  if (late) throw tooSlow()
  if (refusal?.syscall === 'spawn' && refusal.code === 'ENOENT') return undefined
  if (refusal) throw new ToolError(`The search could not be started: ${refusal.message}`)
  if (code === 2 && output.bytes === 0) throw new ToolError(`The search failed: ${errors.text().trim()}`)
  const all = output
    .text(() => '')
    .split('\n')
    .filter(Boolean)
  const lines = all.map((line) => (line.startsWith(`${query.root}/`) ? line.slice(query.root.length + 1) : line))
  return { lines: lines.slice(0, matchesAtMost), more: lines.length > matchesAtMost || output.truncated }
}
