import { randomBytes } from 'node:crypto'
import { lstat, opendir, unlink } from 'node:fs/promises'
import { systemCodeOf } from './file.error.js'
import { type PathBytes, pathIn, pathOfDescriptor } from './path.bytes.js'
import { type Directory } from './path.place.js'
import { identityOf } from './path.terrain.js'

const form = /^\..{0,100}\.[0-9a-f]{16}\.svc-tmp$/s

/** A name for what is written before it takes the place of the file: free, hidden, and known again when it was left. */
export const draftNameOf = (name: PathBytes): PathBytes =>
  `.${name.slice(0, 100)}.${randomBytes(8).toString('hex')}.svc-tmp`

/** A draft this old (ms) was left by a process that died: no write takes as long. */
export const draftsLiveFor = 600_000

const directoriesRemembered = 1000

/** Removes what killed writers left in the directories that are written to. */
export class LeftDrafts {
  /** Directories that were looked through, and when (ms, by the clock of their file system). */
  readonly #swept = new Map<string, number>()

  /** Looks through a directory, unless that was done within `draftsLiveFor`. @param now of the file system (ms) */
  async sweep(directory: Directory, now: number): Promise<void> {
    if (!directory.entry) return
    const { stat } = directory.entry
    // Another directory may get the number of one that was removed.
    const key = `${identityOf(stat)}:${stat.birthtimeNs}`
    const last = this.#swept.get(key)
    if (last !== undefined && now >= last && now - last < draftsLiveFor) return
    this.#swept.delete(key)
    this.#swept.set(key, now)
    for (const oldest of this.#swept.keys()) {
      if (this.#swept.size <= directoriesRemembered) break
      this.#swept.delete(oldest)
    }
    for await (const entry of await opendir(pathOfDescriptor(directory.fd), { encoding: 'latin1', bufferSize: 1024 })) {
      if (form.test(entry.name)) await removeIfLeft(directory, entry.name, now)
    }
  }
}

const removeIfLeft = async (directory: Directory, name: PathBytes, now: number): Promise<void> => {
  const path = pathIn(directory.fd, name)
  try {
    const stat = await lstat(path)
    if (stat.isFile() && now - stat.mtimeMs > draftsLiveFor) await unlink(path)
  } catch (error) {
    // Gone meanwhile, or not ours to remove: it is in nobody's way.
    if (!['ENOENT', 'EACCES', 'EPERM'].includes(systemCodeOf(error) ?? '')) throw error
  }
}
