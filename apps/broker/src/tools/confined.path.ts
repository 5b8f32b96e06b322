import type { FileHandle } from 'node:fs/promises'
import { ConfinedFiles as Files, type WriteLimit } from '#machine/files/confined.files.js'
import { FileError } from '#machine/files/file.error.js'
import type { DirectoryPage, ListRequest } from '#machine/files/file.list.js'
import type { FileView } from '#machine/files/file.view.js'
import type { WriteOptions, WrittenFile } from '#machine/files/file.write.js'
import { ToolError } from './tool.js'

/** A view of nothing but a working directory and one that may be read besides. */
const viewOf = (cwd: string, scratch: string): FileView => ({
  cwd,
  roots: [
    { at: scratch, real: scratch, mode: 'read' },
    { at: cwd, real: cwd, mode: 'write' },
  ],
  frozen: [],
  hidden: [],
})

/**
 * The files that a node's tools may touch: what its programs see of the machine that is the node's, as its plan says. A
 * path means what it means in the shell, links followed, and leads nowhere else whatever is swapped meanwhile.
 */
export class ConfinedFiles {
  readonly #files: Files
  #changing: Promise<unknown> = Promise.resolve()

  constructor(
    readonly cwd: string,
    scratch: string,
    view: FileView = viewOf(cwd, scratch),
  ) {
    this.#files = new Files(view)
  }

  /** Changes of files happen one after another, as they were asked for: of two at once the later would undo the earlier. */
  change<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#changing.then(work)
    this.#changing = done.catch(() => undefined)
    return done
  }

  /** How a path inside is shown: relative to the working directory. */
  shown(path: string): string {
    return this.#files.shown(path)
  }

  /**
   * Where something that exists lies, as the node's programs see it, links followed.
   *
   * @throws ToolError when it doesn't, or lies outside.
   */
  existing(path: string): Promise<string> {
    return this.#told(path, this.#files.existing(path))
  }

  /** Opens a regular file for reading. @throws ToolError */
  openToRead(path: string): Promise<FileHandle> {
    return this.#told(path, this.#files.openToRead(path))
  }

  /** Opens a directory for reading; what is in it is then reached as `/proc/self/fd/<fd>/<name>`. @throws ToolError */
  openDirectory(path: string): Promise<FileHandle> {
    return this.#told(path, this.#files.openDirectory(path))
  }

  /** A page of a directory, by the bytes of the names. @throws ToolError */
  list(path: string, request: ListRequest): Promise<DirectoryPage> {
    return this.#told(path, this.#files.list(path, request))
  }

  /** Makes or replaces a file as a whole, durably. @throws ToolError, and what `check` throws */
  write(path: string, text: string, options: Pick<WriteOptions, 'check'> & WriteLimit): Promise<WrittenFile> {
    return this.#told(path, this.#files.write(path, Buffer.from(text), { parents: true, ...options }))
  }

  async #told<T>(path: string, work: Promise<T>): Promise<T> {
    try {
      return await work
    } catch (error) {
      throw error instanceof FileError ? this.#toolErrorOf(path, error) : error
    }
  }

  #toolErrorOf(path: string, error: FileError): ToolError {
    switch (error.code) {
      case 'path_outside_scope':
        return new ToolError(
          /lies outside/.test(error.message)
            ? `path_outside_scope: ${path} lies outside your working directory ${this.cwd} and what is mounted for you. Give a path inside it.`
            : `path_outside_scope: ${error.message}`,
        )
      case 'not_found':
        if (/circle/.test(error.message)) return new ToolError(error.message)
        return new ToolError(`${path} does not exist. See what is there with list, or find it with search.`)
      case 'not_a_directory':
        return new ToolError(`${path}: a part of it is a file, not a directory.`)
      case 'not_a_file':
        return new ToolError(/is a directory/.test(error.message) ? `${path} is a directory: use list.` : error.message)
      default:
        return new ToolError(`${error.code}: ${error.message}`)
    }
  }
}
