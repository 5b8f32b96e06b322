import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { globExpression } from './glob.expression.js'
import { IgnoreRules, type Ignoring, ignoreFiles, seenFrom } from './search.ignore.js'
import { findIn } from './search.lines.js'
import { Matches } from './search.matches.js'
import { expressionOf, type SearchAnswer, type SearchQuery, skipped } from './search.query.js'
import { globOfType } from './search.types.js'

const largestFile = 16 * 1024 * 1024
const deepest = 128
/** Files that are put in order of their age. */
const sortedAtMost = 100_000

/** What a walk begins with: an open directory, so that nobody puts another in its place. */
export interface WalkRequest {
  readonly query: SearchQuery
  readonly descriptor: number
  /** Names from the open directory to the one that is searched: their ignore files count too. */
  readonly way: readonly string[]
  /** Real paths that are not to be seen. */
  readonly hidden: readonly string[]
}

interface Found {
  /** Below the directory that is searched. */
  readonly path: string
  readonly descriptor: number
  readonly mtimeMs: number
}

const identityOf = ({ dev, ino }: { dev: number; ino: number }): string => `${dev}:${ino}`

/** Goes through a tree from one open directory to the next, following no link, so that nothing leads out of it. */
class Walk {
  readonly #hidden: ReadonlySet<string>
  readonly #skipped: readonly string[]
  readonly #globs: readonly { expression: RegExp; leavesOut: boolean }[]
  readonly #type: RegExp | undefined

  constructor(
    private readonly query: SearchQuery,
    hidden: readonly string[],
  ) {
    this.#hidden = new Set(
      hidden.flatMap((path) => {
        const stat = statSync(path, { throwIfNoEntry: false })
        return stat ? [identityOf(stat)] : []
      }),
    )
    this.#skipped = skipped(query.ignored)
    this.#globs = query.globs.map((glob) => ({
      expression: globExpression(glob.replace(/^!/, '')),
      leavesOut: glob.startsWith('!'),
    }))
    this.#type = query.type === undefined ? undefined : globExpression(globOfType(query.type))
  }

  /** Every file that is to be searched, open until the next is asked for; by name, and deeper ones where they stand. */
  *files(descriptor: number, base: string, above: Ignoring | undefined, depth = 0): Generator<Found> {
    const rules = this.query.ignored ? undefined : rulesOf(descriptor, base, above)
    for (const { name, isDirectory } of entriesOf(descriptor)) {
      const path = base + name
      if (this.query.file !== undefined ? name !== this.query.file : this.#leavesOut(path, name, isDirectory, rules))
        continue
      const opened = openBelow(descriptor, name, isDirectory)
      if (opened === undefined) continue
      try {
        const stat = fstatSync(opened)
        if (this.#hidden.has(identityOf(stat))) continue
        if (isDirectory && depth < deepest) yield* this.files(opened, `${path}/`, rules, depth + 1)
        else if (stat.isFile()) yield { path, descriptor: opened, mtimeMs: stat.mtimeMs }
      } finally {
        closeSync(opened)
      }
    }
  }

  #leavesOut(path: string, name: string, isDirectory: boolean, rules: Ignoring | undefined): boolean {
    if (this.#skipped.includes(name)) return true
    const glob = this.#globs.findLast(({ expression }) => expression.test(path))
    if (glob) {
      if (glob.leavesOut) return true
      // As ripgrep has it: what a glob names is searched though it is hidden or ignored.
      if (!isDirectory) return this.#isOtherType(path)
    }
    if (!this.query.hidden && name.startsWith('.')) return true
    if (rules?.ignores(path, isDirectory)) return true
    if (isDirectory) return false
    return this.#globs.some(({ leavesOut }) => !leavesOut) || this.#isOtherType(path)
  }

  #isOtherType(path: string): boolean {
    return this.#type?.test(path) === false
  }
}

const entriesOf = (descriptor: number): { name: string; isDirectory: boolean }[] => {
  try {
    return readdirSync(`/proc/self/fd/${descriptor}`, { withFileTypes: true })
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map((entry) => ({ name: entry.name, isDirectory: entry.isDirectory() }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch {
    // Not for us to read, or gone meanwhile.
    return []
  }
}

/** Without waiting for anything that took the file's place, and without following it. */
const openBelow = (descriptor: number, name: string, isDirectory: boolean): number | undefined => {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  try {
    return openSync(`/proc/self/fd/${descriptor}/${name}`, flags | (isDirectory ? constants.O_DIRECTORY : 0))
  } catch {
    return undefined
  }
}

const rulesOf = (descriptor: number, base: string, above?: Ignoring): Ignoring | undefined => {
  const texts = ignoreFiles.flatMap((name) => {
    const opened = openBelow(descriptor, name, false)
    if (opened === undefined) return []
    try {
      const stat = fstatSync(opened)
      return stat.isFile() && stat.size < largestFile ? [readFileSync(opened, 'utf8')] : []
    } finally {
      closeSync(opened)
    }
  })
  return texts.length ? new IgnoreRules(base, texts, above) : above
}

const textOf = ({ descriptor }: Found): string | undefined => {
  if (fstatSync(descriptor).size > largestFile) return undefined
  const bytes = readFileSync(descriptor)
  return bytes.subarray(0, 8192).includes(0) ? undefined : bytes.toString('utf8').replace(/^\ufeff/, '')
}

const newestFirst = (found: Iterable<Found>, { prefix, offset, limit }: SearchQuery): SearchAnswer => {
  const all: { path: string; mtimeMs: number }[] = []
  for (const { path, mtimeMs } of found) {
    all.push({ path, mtimeMs })
    if (all.length >= sortedAtMost) break
  }
  all.sort((a, b) => b.mtimeMs - a.mtimeMs || (a.path < b.path ? -1 : 1))
  return {
    entries: all.slice(offset, offset + limit).map(({ path }) => prefix + path),
    more: all.length > offset + limit,
  }
}

/** Searches without any program of the system. It keeps its thread busy until it is done. */
export const walk = ({ query, descriptor, way, hidden }: WalkRequest): SearchAnswer => {
  const found = startOf(new Walk(query, hidden), query, descriptor, way)
  const expression = expressionOf(query)
  if (!expression) return newestFirst(found, query)
  const matches = new Matches(query)
  for (const file of found) {
    const text = textOf(file)
    if (text !== undefined) findIn({ path: query.prefix + file.path, text }, { query, expression, matches })
    if (matches.full) break
  }
  return matches.answer
}

/** Goes down to the directory that is searched, taking along what the ignore files on the way say. */
function* startOf(tree: Walk, query: SearchQuery, descriptor: number, way: readonly string[]): Generator<Found> {
  const opened: number[] = []
  try {
    let at = descriptor
    let above: Ignoring | undefined
    for (const name of way) {
      const rules = query.ignored ? undefined : rulesOf(at, '', above)
      above = rules && seenFrom(name, rules)
      const next = openBelow(at, name, true)
      if (next === undefined) return
      opened.push(next)
      at = next
    }
    yield* tree.files(at, '', above)
  } finally {
    for (const one of opened) closeSync(one)
  }
}
