import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import {
  expressionOf,
  fits,
  lineAtMost,
  matchesAtMost,
  type SearchAnswer,
  type SearchQuery,
  skipped,
} from './search.query.js'

const largestFile = 4 * 1024 * 1024
const longestLine = 4000

function* filesBelow(directory: string): Generator<string> {
  let entries: import('node:fs').Dirent[]
  try {
    entries = readdirSync(directory, { withFileTypes: true })
  } catch {
    // Not for us to read, or gone meanwhile.
    return
  }
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) {
      if (!skipped.includes(entry.name)) yield* filesBelow(path)
    } else if (entry.isFile()) yield path
  }
}

const linesOf = (path: string): string[] => {
  try {
    if (statSync(path).size > largestFile) return []
    const bytes = readFileSync(path)
    return bytes.subarray(0, 8192).includes(0) ? [] : bytes.toString('utf8').split(/\r?\n/)
  } catch {
    return []
  }
}

/** Searches without any program of the system. It keeps its thread busy until it is done. */
export const walk = (query: SearchQuery): SearchAnswer => {
  const expression = expressionOf(query)
  const single = statSync(query.root).isFile()
  const lines: string[] = []
  for (const path of single ? [query.root] : filesBelow(query.root)) {
    const shown = single ? basename(path) : relative(query.root, path)
    if (!fits(query.glob, shown)) continue
    const found = expression
      ? linesOf(path).flatMap((line, at) =>
          expression.test(line.slice(0, longestLine)) ? [`${shown}:${at + 1}:${line.slice(0, lineAtMost)}`] : [],
        )
      : [shown]
    lines.push(...found)
    if (lines.length > matchesAtMost) return { lines: lines.slice(0, matchesAtMost), more: true }
  }
  return { lines, more: false }
}
