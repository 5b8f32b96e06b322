import { readdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { ConfinedFiles } from './confined.path.js'
import { ToolError } from './tool.js'

/** Names of a directory that are looked at. */
const namesAtMost = 5000
const shownAtMost = 3

/** Characters to add, drop, replace or swap with their neighbour from one text to the other; at most `limit` + 1. */
export const distance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let above: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? above[j - 2]! + 1 : Infinity
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, replaced, swapped))
    }
    if (Math.min(...next) > limit && Math.min(...row) >= limit) return limit + 1
    above = row
    row = next
  }
  return row[b.length]!
}

const stem = (name: string): string => name.replace(/\.[^.]*$/, '')

/** How unlike two names are; undefined: too much so to be meant. */
const unlikeness = (wanted: string, name: string): number | undefined => {
  const [a, b] = [wanted.toLowerCase(), name.toLowerCase()]
  if (a === b) return 0
  if (stem(a) === stem(b) && stem(a)) return 1
  const allowed = Math.max(1, Math.floor(a.length / 4))
  const changes = distance(a, b, allowed)
  if (changes <= allowed) return 1 + changes
  return a.length > 3 && (b.includes(stem(a)) || (stem(b).length > 3 && a.includes(stem(b)))) ? 20 : undefined
}

const nearest = (wanted: string, names: readonly string[]): string[] =>
  names
    .flatMap((name) => {
      const rank = unlikeness(wanted, name)
      return rank === undefined ? [] : [{ name, rank }]
    })
    .sort((a, b) => a.rank - b.rank || (a.name < b.name ? -1 : 1))
    .slice(0, shownAtMost)
    .map(({ name }) => name)

/** What stands in a directory inside; undefined when it isn't there, isn't one, or lies outside. */
const namesIn = async (files: ConfinedFiles, directory: string): Promise<string[] | undefined> => {
  try {
    await using opened = await files.openDirectory(directory)
    return (await readdir(`/proc/self/fd/${opened.fd}`)).slice(0, namesAtMost)
  } catch {
    return undefined
  }
}

const missing = async (files: ConfinedFiles, path: string): Promise<string | undefined> => {
  const directory = dirname(path)
  const names = await namesIn(files, directory)
  if (names?.includes(basename(path))) return undefined
  if (names) {
    const near = nearest(basename(path), names).map((name) => (directory === '.' ? name : join(directory, name)))
    return near.length ? `Did you mean ${near.join(' or ')}?` : 'See what is there with list, or find it with glob.'
  }
  let above = directory
  while (above !== dirname(above)) {
    above = dirname(above)
    const siblings = await namesIn(files, above)
    if (siblings) return `Its directory does not exist either; ${above} does: see what is there with list, or use glob.`
  }
  return undefined
}

/**
 * Does something with a path; where that fails since nothing is there, the error names what may be meant.
 *
 * @throws ToolError, or what `work` throws
 */
export const withNearNames = async <T>(files: ConfinedFiles, path: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (await exists(files, path, error)) throw error
    const hint = await missing(files, path)
    throw hint === undefined ? error : new ToolError(`${path} does not exist. ${hint}`)
  }
}

/** A path that leads outside is as good as there: nothing is told of what stands beside it. */
const exists = async (files: ConfinedFiles, path: string, error: unknown): Promise<boolean> => {
  if (/path_outside_scope/.test((error as Error).message)) return true
  return files.existing(path).then(
    () => true,
    () => false,
  )
}
