import { matchesGlob } from 'node:path'
import { ToolError } from './tool.js'

export interface SearchQuery {
  /** Real path of the directory or file to search. */
  readonly root: string
  /** Regular expression; absent: the names of the files are asked for. */
  readonly pattern: string | undefined
  /** Files whose path below the root, or name, fits. */
  readonly glob: string | undefined
  readonly ignoreCase: boolean
}

export interface SearchAnswer {
  /** `path:line:text`, or paths; relative to the root. */
  readonly lines: string[]
  readonly more: boolean
}

/** A search that takes longer is given up (ms): an expression, or a tree, may take for ever. */
export const timeLimit = 20_000
export const matchesAtMost = 500
export const lineAtMost = 300
/** Directories that hold what nobody wrote. */
export const skipped = ['.git', 'node_modules']

export const tooSlow = (): ToolError =>
  new ToolError(
    `The search took more than ${timeLimit / 1000} s: narrow it down by path or glob, or use a simpler pattern.`,
  )

/** A glob without a slash fits names in any directory. */
export const fits = (glob: string | undefined, path: string): boolean =>
  glob === undefined || matchesGlob(path, glob.includes('/') ? glob.replace(/^\//, '') : `**/${glob}`)

/** @throws ToolError */
export const expressionOf = ({
  pattern,
  ignoreCase,
}: Pick<SearchQuery, 'pattern' | 'ignoreCase'>): RegExp | undefined => {
  if (pattern === undefined) return undefined
  try {
    return new RegExp(pattern, ignoreCase ? 'iu' : 'u')
  } catch {
    try {
      return new RegExp(pattern, ignoreCase ? 'i' : '')
    } catch (error) {
      throw new ToolError(
        `"pattern" is no regular expression: ${(error as Error).message}. Escape characters that are meant as they are: . * + ? ( ) [ ] { } | ^ $ \\`,
      )
    }
  }
}
