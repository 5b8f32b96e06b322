import type { Dirent } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes on the disk of each directory that stands in this one, the largest first; empty where there is none. */
export const directorySizes = async (path: string): Promise<{ name: string; bytes: number }[]> => {
  const entries = (await entriesOf(path)).filter((entry) => entry.isDirectory())
  const sizes = await Promise.all(
    entries.map(async ({ name }) => ({ name, bytes: await bytesBelow(join(path, name)) })),
  )
  return sizes.sort((a, b) => b.bytes - a.bytes)
}

/** One directory after the other: a data directory may hold very many. */
const bytesBelow = async (path: string): Promise<number> => {
  let bytes = 0
  for (const entry of await entriesOf(path)) {
    const at = join(path, entry.name)
    bytes += entry.isDirectory() ? await bytesBelow(at) : await bytesOf(at)
  }
  return bytes
}

/** What went meanwhile, or may not be read, counts as nothing. */
const unreadable = (error: unknown): boolean =>
  ['ENOENT', 'EACCES', 'EPERM', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')

const entriesOf = async (path: string): Promise<Dirent[]> => {
  try {
    return await readdir(path, { withFileTypes: true })
  } catch (error) {
    if (unreadable(error)) return []
    throw error
  }
}

/** Blocks, since a file may have holes; a block is 512 bytes here, whatever the file system's are. */
const bytesOf = async (path: string): Promise<number> => {
  try {
    return (await lstat(path)).blocks * 512
  } catch (error) {
    if (unreadable(error)) return 0
    throw error
  }
}
