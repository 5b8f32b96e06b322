import { ToolError } from './tool.js'

export type SearchMode = 'lines' | 'files' | 'count'

export interface SearchQuery {
  /** The directory that is searched, or that holds the one file that is; as the node's programs see it. */
  readonly directory: string
  /** Name of that one file. */
  readonly file: string | undefined
  /** Stands before each path of the answer. */
  readonly prefix: string
  /** Regular expression; absent: the names of the files are asked for, the newest first. */
  readonly pattern: string | undefined
  readonly fixed: boolean
  readonly ignoreCase: boolean
  readonly multiline: boolean
  readonly mode: SearchMode
  /** Files whose path below the directory fits; one with `!` before it leaves those out. */
  readonly globs: readonly string[]
  readonly type: string | undefined
  readonly before: number
  readonly after: number
  readonly hidden: boolean
  readonly ignored: boolean
  /** Entries that are passed over, and that are wanted. */
  readonly offset: number
  readonly limit: number
}

export interface SearchAnswer {
  /** What was found, each with the lines around it; paths are relative to the working directory. */
  readonly entries: readonly string[]
  readonly more: boolean
}

/** A search that takes longer is given up (ms): an expression, or a tree, may take for ever. */
export const timeLimit = 20_000
/** What nobody wrote, or git keeps for itself. */
export const skipped = (ignored: boolean): string[] => (ignored ? ['.git'] : ['.git', 'node_modules'])

export const tooSlow = (): ToolError =>
  new ToolError(
    `The search took more than ${timeLimit / 1000} s: narrow it down by path, glob or type, or use a simpler pattern.`,
  )

/** Whether a pattern has no capitals: those of an escape, `\S` for one, are none. */
export const isLowerCase = (pattern: string, fixed: boolean): boolean => {
  const letters = fixed ? pattern : pattern.replace(/\\[pP]\{[^}]*\}|\\./g, '')
  return letters === letters.toLowerCase()
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** @throws ToolError */
export const expressionOf = ({
  pattern,
  fixed,
  ignoreCase,
  multiline,
}: Pick<SearchQuery, 'pattern' | 'fixed' | 'ignoreCase' | 'multiline'>): RegExp | undefined => {
  if (pattern === undefined) return undefined
  const source = fixed ? escaped(pattern) : pattern
  const flags = `g${multiline ? 'ms' : ''}${ignoreCase ? 'i' : ''}`
  try {
    return new RegExp(source, `${flags}u`)
  } catch {
    try {
      return new RegExp(source, flags)
    } catch (error) {
      throw notAnExpression((error as Error).message)
    }
  }
}

export const notAnExpression = (why: string): ToolError =>
  new ToolError(
    `"pattern" is no regular expression: ${why.trim()}\nEscape characters that are meant as they are (. * + ? ( ) [ ] { } | ^ $ \\), or set "fixed".`,
  )
