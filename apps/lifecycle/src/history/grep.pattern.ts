import { RE2JS, RE2JSException } from 're2js'
import { SvcError } from '#common/kernel/errors.js'

export interface LinePattern {
  /** Where the pattern is first found in a line: from and to; null when it isn't. */
  readonly find: (line: string) => readonly [from: number, to: number] | null
  /** One of these stands in every line that fits, in either case; empty when nothing can be said. */
  readonly literals: readonly string[]
}

/** What the index of parts of words can look for. */
const shortest = 3
const mostBranches = 4

/** @throws SvcError validation_failed with what is wrong with the pattern */
export const linePattern = (pattern: string): LinePattern => {
  const compiled = compile(pattern)
  return {
    literals: literalsOf(pattern),
    find: (line) => {
      if (!compiled.test(line)) return null
      const matcher = compiled.matcher(line)
      return matcher.find() ? [matcher.start(), matcher.end()] : [0, 0]
    },
  }
}

const compile = (pattern: string): RE2JS => {
  try {
    return RE2JS.compile(pattern, RE2JS.CASE_INSENSITIVE)
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    throw new SvcError('validation_failed', undefined, {
      errors: [{ pointer: '/pattern', message: `is no regular expression of RE2: ${error.message}` }],
    })
  }
}

/**
 * A text that each branch of a pattern cannot do without. Sure rather than sharp: what it does not understand ends a
 * literal, and what holds groups, classes or flags is judged by the rest of it.
 */
export const literalsOf = (pattern: string): string[] => {
  const branches = branchesOf(pattern)
  if (branches === null || branches.length > mostBranches) return []
  const longest = branches.map((runs) => runs.sort((a, b) => b.length - a.length)[0] ?? '')
  return longest.every((run) => [...run].length >= shortest) ? longest : []
}

/** Characters that mean themselves when escaped, and those that mean something when not. */
const escaped = /[^A-Za-z0-9]/
const special = /[\\^$.|?*+()[\]{}]/
/** A letter whose other case is found by one of the two sides only. */
const unsure = /[^\x20-\x7e]|[kKsSiI]/

/** Runs of plain characters of each branch at the top; null when flags or quotes change what follows. */
const branchesOf = (pattern: string): string[][] | null => {
  const branches: string[][] = [[]]
  let run = ''
  const end = (): void => {
    if (run !== '') branches.at(-1)?.push(run)
    run = ''
  }
  for (let at = 0; at < pattern.length; ) {
    const [token, next] = tokenAt(pattern, at)
    if (token === null) return null
    const optional = /^[?*{]/.test(pattern.slice(next))
    if (token === '|') {
      end()
      branches.push([])
    } else if (token === '' || optional || unsure.test(token)) end()
    else run += token
    if (/^[?*+{]/.test(pattern.slice(next))) end()
    at = next
  }
  end()
  return branches
}

/** A character that stands for itself, `|`, or nothing for all that has another meaning; and where the next begins. */
const tokenAt = (pattern: string, at: number): [token: string | null, next: number] => {
  const char = pattern[at] as string
  const after = pattern[at + 1]
  if (char === '\\') {
    if (after === 'Q') return [null, at]
    if (after !== undefined && escaped.test(after)) return [after, at + 2]
    return ['', at + escapeLength(pattern, at)]
  }
  if (char === '(') {
    if (/^\(\?[a-zA-Z-]*\)/.test(pattern.slice(at))) return [null, at]
    return ['', closing(pattern, at)]
  }
  if (char === '[') return ['', closing(pattern, at)]
  if (char === '|') return ['|', at + 1]
  if (char === '{') return ['', pattern.indexOf('}', at) + 1 || at + 1]
  return special.test(char) ? ['', at + 1] : [char, at + 1]
}

/** `\x{1F600}`, `\pL`, `\p{Greek}`, `\123`, `\d`. */
const escapeLength = (pattern: string, at: number): number =>
  /^\\(?:x\{[^}]*\}|x[0-9a-fA-F]{2}|[pP]\{[^}]*\}|[pP].|[0-7]{1,3}|.)/s.exec(pattern.slice(at))?.[0].length ?? 1

/** The index behind the group or class that begins here. The pattern is known to be well formed. */
const closing = (pattern: string, from: number): number => {
  let depth = 0
  let inClass = false
  for (let at = from; at < pattern.length; at += 1) {
    const char = pattern[at]
    if (char === '\\') at += 1
    else if (inClass) {
      if (char === '[' && pattern[at + 1] === ':') at = pattern.indexOf(':]', at) + 1 || at
      else if (char === ']') inClass = false
    } else if (char === '[') {
      inClass = true
      // a bracket that comes first, also behind ^, is one of the class
      if (pattern[at + 1] === '^') at += 1
      if (pattern[at + 1] === ']') at += 1
    } else if (char === '(') depth += 1
    else if (char === ')') depth -= 1
    if (depth === 0 && !inClass) return at + 1
  }
  return pattern.length
}
