import type { BigIntStats } from 'node:fs'
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, opendir, readlink } from 'node:fs/promises'
import { FileError, systemCodeOf } from './file.error.js'
import { millisecondsOf } from './file.state.js'
import { NameSelection } from './name.selection.js'
import { type PathBytes, pathIn, pathOfDescriptor } from './path.bytes.js'
import type { Place } from './path.place.js'

export interface ListRequest {
  /** Entries at most. */
  readonly limit: number
  /** Only names that come after this one. */
  readonly after?: PathBytes
  readonly signal?: AbortSignal
}

export interface DirectoryEntry {
  /** Its bytes, one a character. */
  readonly name: PathBytes
  readonly type: 'file' | 'directory' | 'symlink' | 'other'
  readonly size: number
  /** The lower twelve bits: permissions, set-ID and sticky. */
  readonly mode: number
  readonly mtimeMs: number
  /** Where a symlink points, as it is written. */
  readonly target?: PathBytes
}

export interface DirectoryPage {
  /** As the caller sees it, links followed. */
  readonly path: string
  readonly entries: readonly DirectoryEntry[]
  /** The name to go on after; undefined at the end. */
  readonly next: PathBytes | undefined
}

/** Entries that are looked at together: more would only wait for each other. */
const together = 64

/** @throws FileError, and what open(2) answers. */
export const openDirectory = async ({ entry, asked }: Place): Promise<FileHandle> => {
  if (!entry) throw new FileError('not_found', `${asked} does not exist.`)
  if (!entry.stat.isDirectory()) throw new FileError('not_a_directory', `${asked} is not a directory.`)
  return open(pathOfDescriptor(entry.handle.fd), constants.O_RDONLY | constants.O_DIRECTORY)
}

/**
 * A page of a directory by the bytes of the names. The directory is read through once for each page, and no more of it is
 * kept than the page; what is made or removed between two pages neither shifts nor doubles the others.
 *
 * @throws FileError, and what the system answers.
 */
export const listPage = async (place: Place, request: ListRequest): Promise<DirectoryPage> => {
  await using directory = await openDirectory(place)
  const names = await namesAfter(directory, request)
  const page = names.slice(0, request.limit)
  const entries: DirectoryEntry[] = []
  for (let at = 0; at < page.length; at += together) {
    request.signal?.throwIfAborted()
    const found = await Promise.all(page.slice(at, at + together).map((name) => entryOf(directory, name)))
    entries.push(...found.filter((entry) => entry !== undefined))
  }
  return { path: place.path, entries, next: names.length > page.length ? page.at(-1) : undefined }
}

/** Names that are read from the disk at once. */
const batch = 1024

/**
 * The first names after a given one, and one more. Waiting for each name by itself would take longer than reading it:
 * the first of a batch is waited for, and the others are there with it.
 */
const namesAfter = async (directory: FileHandle, { limit, after, signal }: ListRequest): Promise<PathBytes[]> => {
  const selection = new NameSelection(limit + 1)
  const all = await opendir(pathOfDescriptor(directory.fd), { encoding: 'latin1', bufferSize: batch })
  try {
    for (let entry = await all.read(); entry; entry = await all.read()) {
      signal?.throwIfAborted()
      for (let count = 1; entry; count += 1) {
        if (after === undefined || entry.name > after) selection.add(entry.name)
        entry = count < batch ? all.readSync() : null
      }
    }
  } finally {
    await all.close()
  }
  return selection.sorted()
}

const typeOf = (stat: BigIntStats): DirectoryEntry['type'] =>
  stat.isFile() ? 'file' : stat.isDirectory() ? 'directory' : stat.isSymbolicLink() ? 'symlink' : 'other'

/** Undefined when it is gone meanwhile. */
const entryOf = async (directory: FileHandle, name: PathBytes): Promise<DirectoryEntry | undefined> => {
  const path = pathIn(directory.fd, name)
  try {
    const stat = await lstat(path, { bigint: true })
    const type = typeOf(stat)
    return {
      name,
      type,
      size: Number(stat.size),
      mode: Number(stat.mode) & 0o7777,
      mtimeMs: millisecondsOf(stat.mtimeNs),
      ...(type === 'symlink' && { target: (await readlink(path, { encoding: 'latin1' })) as PathBytes }),
    }
  } catch (error) {
    // EINVAL: it was a link at the first look.
    if (['ENOENT', 'EINVAL'].includes(systemCodeOf(error) ?? '')) return undefined
    throw error
  }
}
