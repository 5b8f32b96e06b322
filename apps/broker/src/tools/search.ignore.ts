import { globExpression } from './glob.expression.js'

/** Files that say what a search leaves out; the later ones count for more. */
export const ignoreFiles = ['.gitignore', '.ignore', '.rgignore'] as const

interface Rule {
  readonly expression: RegExp
  readonly keeps: boolean
  readonly directoriesOnly: boolean
}

const ruleOf = (line: string): Rule[] => {
  const text = line.replace(/(?<!\\)\s+$/, '')
  if (!text || text.startsWith('#')) return []
  const keeps = text.startsWith('!')
  const glob = (keeps ? text.slice(1) : text).replace(/^\\(?=[#!])/, '')
  return glob === '/' ? [] : [{ expression: globExpression(glob), keeps, directoriesOnly: glob.endsWith('/') }]
}

export interface Ignoring {
  ignores(path: string, isDirectory: boolean): boolean
}

/** The same for paths that are counted from a directory in it. */
export const seenFrom = (directory: string, above: Ignoring): Ignoring => ({
  ignores: (path, isDirectory) => above.ignores(`${directory}/${path}`, isDirectory),
})

/** What the ignore files of a directory, and of those above it, leave out. */
export class IgnoreRules implements Ignoring {
  readonly #rules: readonly Rule[]

  /** @param base path of the directory, as paths are given to `ignores`, with a slash at its end; empty at the root */
  constructor(
    private readonly base: string,
    texts: readonly string[],
    private readonly above?: Ignoring,
  ) {
    this.#rules = texts.flatMap((text) => text.split(/\r?\n/).flatMap(ruleOf))
  }

  /** The last rule that fits decides, and the nearest file before those above it. */
  ignores(path: string, isDirectory: boolean): boolean {
    const below = path.slice(this.base.length)
    const rule = this.#rules.findLast(
      ({ expression, directoriesOnly }) => (isDirectory || !directoriesOnly) && expression.test(below),
    )
    return rule ? !rule.keeps : (this.above?.ignores(path, isDirectory) ?? false)
  }
}
