import type { FileHandle } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { ToolProcesses } from '../process/tool-process.js'
import type { ConfinedFiles } from './confined.path.js'
import { withNearNames } from './near.names.js'
import { expressionOf, type SearchAnswer, type SearchQuery } from './search.query.js'
import { searchWithRipgrep } from './search.ripgrep.js'
import { globOfType } from './search.types.js'
import type { WalkRequest } from './search.walk.js'
import { searchInThread } from './search.worker.js'
import { ToolError } from './tool.js'

type SearchThread = (request: WalkRequest, signal: AbortSignal) => Promise<SearchAnswer>

const charactersAtOnce = 40_000

/** Where a search goes: below a directory, or through one file. */
type Place = Pick<SearchQuery, 'directory' | 'file' | 'prefix'>

const isDirectory = async (files: ConfinedFiles, path: string): Promise<boolean> => {
  let opened: FileHandle | undefined
  try {
    opened = await files.openDirectory(path)
    return true
  } catch {
    return false
  } finally {
    await opened?.close()
  }
}

const below = (files: ConfinedFiles, directory: string): string => {
  const shown = files.shown(directory)
  return shown === '.' ? '' : `${shown}/`
}

/** @throws ToolError when nothing is there, or nothing that can be searched */
export const placeOf = async (files: ConfinedFiles, path: string): Promise<Place> => {
  const real = await withNearNames(files, path, () => files.existing(path))
  if (await isDirectory(files, real)) return { directory: real, file: undefined, prefix: below(files, real) }
  await (await files.openToRead(real)).close()
  return { directory: dirname(real), file: basename(real), prefix: below(files, dirname(real)) }
}

/** Searches of one node: by ripgrep in its sandbox, and where its programs see none, in a thread of this process. */
export class Searches {
  #hasRipgrep = true

  /** @param hidden real paths that are not to be seen */
  constructor(
    private readonly files: ConfinedFiles,
    private readonly processes: ToolProcesses,
    private readonly hidden: readonly string[] = [],
    private readonly thread: SearchThread = searchInThread,
  ) {}

  /** @throws ToolError; the signal's reason */
  async run(query: SearchQuery, signal: AbortSignal): Promise<SearchAnswer> {
    if (this.#hasRipgrep) {
      const answer = await searchWithRipgrep(this.processes, query, signal)
      if (answer === 'absent') this.#hasRipgrep = false
      else if (answer) return answer
    }
    // Here, since an error of a thread comes without its class.
    expressionOf(query)
    if (query.type !== undefined) globOfType(query.type)
    const { cwd } = this.files
    const inside = query.directory === cwd || query.directory.startsWith(`${cwd}/`)
    const way = inside
      ? query.directory
          .slice(cwd.length + 1)
          .split('/')
          .filter(Boolean)
      : []
    await using start = await this.files.openDirectory(inside ? cwd : query.directory)
    return await this.thread({ query, descriptor: start.fd, way, hidden: this.hidden }, signal)
  }
}

/** A page of what was found, and how to see the rest. */
export const pageOf = (
  { entries, more }: SearchAnswer,
  { offset }: Pick<SearchQuery, 'offset'>,
  what: string,
): string => {
  if (!entries.length) return offset ? `There are no more than ${offset} ${what}.` : `Nothing found.`
  let output = ''
  let count = 0
  for (const entry of entries) {
    if (count && output.length + entry.length > charactersAtOnce) break
    output += `${entry}\n`
    count += 1
  }
  if (!more && count === entries.length) return output.trimEnd()
  const next = offset + count
  return `${output}[… ${what} ${offset + 1}–${next} are shown, more follow: go on with offset: ${next}, or narrow it down …]`
}

/** @throws ToolError unless it names files below the place that is searched */
export const globsOf = (given: string | undefined): string[] => {
  if (!given) return []
  if (given.replace(/^!/, '').startsWith('../'))
    throw new ToolError('"glob" counts from "path" and leads down from there: give the directory as "path".')
  return [given.replace(/^(!?)\.\//, '$1')]
}
