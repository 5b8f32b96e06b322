import { type FileHandle } from 'node:fs/promises'
import { ChangeQueue } from './change.queue.js'
import { LeftDrafts } from './file.draft.js'
import { FileError, fileErrorOf } from './file.error.js'
import { type DirectoryPage, type ListRequest, listPage, openDirectory } from './file.list.js'
import { type FilePiece, openRegular, type ReadRequest, readPiece } from './file.read.js'
import type { FileView } from './file.view.js'
import { FileWriter, type WriteOptions, type WrittenFile } from './file.write.js'
import { bytesOf, within } from './path.bytes.js'
import type { Place } from './path.place.js'
import { Terrain } from './path.terrain.js'
import { PathWalk } from './path.walk.js'

export interface WriteLimit {
  /** Bytes that a file may be given. */
  readonly limit: number
}

/** Shared by all views of one process, since two of them may meet at one file. */
const queue = new ChangeQueue()
const drafts = new LeftDrafts()

/**
 * The files of a view: everything goes by where a path really leads within its roots, links followed, and nothing that
 * anybody renames or swaps meanwhile leads out of them. Regular files and directories only; nothing here waits for
 * another program. Paths are absolute or relative to the view's working directory; a buffer where a name is no UTF-8.
 *
 * Every method throws FileError, named `code`.
 */
export class ConfinedFiles {
  readonly #terrain: Terrain

  constructor(readonly view: FileView) {
    this.#terrain = new Terrain(view)
  }

  /** Where something that exists lies, as its programs see it, links followed. */
  existing(path: string | Buffer): Promise<string> {
    return this.#at(path, async (place) => {
      if (!place.entry) throw new FileError('not_found', `${place.asked} does not exist.`)
      return place.path
    })
  }

  /** Opens a regular file for reading; the caller closes it. */
  openToRead(path: string | Buffer): Promise<FileHandle> {
    return this.#at(path, openRegular)
  }

  /** Opens a directory for reading; the caller closes it. */
  openDirectory(path: string | Buffer): Promise<FileHandle> {
    return this.#at(path, openDirectory)
  }

  read(path: string | Buffer, request: ReadRequest): Promise<FilePiece> {
    return this.#at(path, (place) => readPiece(place, request))
  }

  list(path: string | Buffer, request: ListRequest): Promise<DirectoryPage> {
    return this.#at(path, (place) => listPage(place, request))
  }

  /** Replaces or makes a file as a whole, durably. @throws FileError also `file_too_large`, before anything is touched. */
  async write(path: string | Buffer, bytes: Buffer, options: WriteOptions & WriteLimit): Promise<WrittenFile> {
    if (bytes.length > options.limit)
      throw new FileError(
        'file_too_large',
        `${path} would have ${bytes.length} bytes, more than the ${options.limit} that one write may have; nothing was written.`,
      )
    await this.#terrain.survey()
    try {
      return await new FileWriter(this.#terrain, queue, drafts).write(this.#absolute(path), bytes, options)
    } catch (error) {
      throw fileErrorOf(String(path), error)
    }
  }

  /** How a path inside is shown: relative to the working directory. */
  shown(path: string): string {
    const { cwd } = this.view
    return cwd !== '/' && within(path, cwd) ? path.slice(cwd.length + 1) || '.' : path
  }

  async #at<T>(path: string | Buffer, work: (place: Place) => Promise<T>): Promise<T> {
    await this.#terrain.survey()
    await using place = await PathWalk.to(this.#terrain, this.#absolute(path))
    try {
      return await work(place)
    } catch (error) {
      throw fileErrorOf(place.asked, error)
    }
  }

  #absolute(path: string | Buffer): string | Buffer {
    if (typeof path === 'string') return path.startsWith('/') ? path : `${this.view.cwd}/${path}`
    return path[0] === 0x2f ? path : Buffer.from(`${bytesOf(this.view.cwd)}/${path.toString('latin1')}`, 'latin1')
  }
}
