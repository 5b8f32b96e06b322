import { constants, type FileHandle, mkdir, open, readlink, realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { ToolError } from './tool.js'

const within = (root: string, path: string): boolean => {
  const way = relative(root, path)
  return way === '' || (!way.startsWith('../') && way !== '..' && !isAbsolute(way))
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

/**
 * The files that a node's tools may touch: what lies in its working directory, and for reading its scratch directory.
 * A path is judged by where it really leads: links are followed first, and what was opened is asked again where it lies,
 * so that a link swapped in between leads nowhere else.
 */
export class ConfinedFiles {
  #changing: Promise<unknown> = Promise.resolve()

  constructor(
    readonly cwd: string,
    private readonly scratch: string,
  ) {}

  /** Changes of files happen one after another, as they were asked for: of two at once the later would undo the earlier. */
  change<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#changing.then(work)
    this.#changing = done.catch(() => undefined)
    return done
  }

  /** How a path inside is shown: relative to the working directory. */
  shown(path: string): string {
    return within(this.cwd, path) ? relative(this.cwd, path) || '.' : path
  }

  /**
   * The real path of something that exists.
   *
   * @throws ToolError when it doesn't, or lies outside.
   */
  async existing(path: string): Promise<string> {
    const asked = resolve(this.cwd, path)
    try {
      const real = await realpath(asked)
      await this.#refuseOutside(path, real, true)
      return real
    } catch (error) {
      if (error instanceof ToolError) throw error
      await this.#refuseOutside(path, asked, true)
      throw unreadable(path, error)
    }
  }

  /** Opens a regular file for reading. @throws ToolError */
  async openToRead(path: string): Promise<FileHandle> {
    const real = await this.existing(path)
    let file: FileHandle
    try {
      // Without O_NONBLOCK a named pipe would be waited on for ever.
      file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK)
    } catch (error) {
      throw unreadable(path, error)
    }
    try {
      await this.#refuseOutside(path, await readlink(`/proc/self/fd/${file.fd}`), true)
      const stat = await file.stat()
      if (stat.isDirectory()) throw new ToolError(`${path} is a directory: use list.`)
      if (!stat.isFile()) throw new ToolError(`${path} is not a regular file.`)
      return file
    } catch (error) {
      await file.close()
      throw error
    }
  }

  /**
   * Opens the directory that a file is to be written in, made with its parents where missing. The file is then reached
   * as `/proc/self/fd/<fd>/<name>`, which no link can lead astray. A link at the file itself is followed.
   *
   * @throws ToolError
   */
  async openParent(path: string): Promise<{ directory: FileHandle; name: string }> {
    const asked = resolve(this.cwd, path)
    const target = await realpath(asked).catch(() => undefined)
    const wanted = target ?? join(await this.#realParent(path, dirname(asked)), basename(asked))
    await this.#refuseOutside(path, wanted, false)
    if (wanted === (await realpath(this.cwd))) throw new ToolError(`${path} is a directory.`)
    try {
      await mkdir(dirname(wanted), { recursive: true })
      const directory = await open(dirname(wanted), constants.O_RDONLY | constants.O_DIRECTORY)
      try {
        await this.#refuseOutside(path, await readlink(`/proc/self/fd/${directory.fd}`), false)
      } catch (error) {
        await directory.close()
        throw error
      }
      return { directory, name: basename(wanted) }
    } catch (error) {
      if (error instanceof ToolError) throw error
      throw unreadable(path, error)
    }
  }

  /** The real path of a directory that may not exist yet: of its nearest ancestor that does, and the rest of the way. */
  async #realParent(path: string, directory: string): Promise<string> {
    let rest = ''
    for (let at = directory; ; at = dirname(at)) {
      try {
        return join(await realpath(at), rest)
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || at === '/') throw unreadable(path, error)
        rest = join(basename(at), rest)
      }
    }
  }

  async #refuseOutside(path: string, real: string, reading: boolean): Promise<void> {
    if (within(await realpath(this.cwd), real)) return
    if (reading && within(await realpath(this.scratch).catch(() => this.scratch), real)) return
    throw new ToolError(
      `path_outside_scope: ${path} lies outside your working directory ${this.cwd}. Your file tools reach only what lies in it; give a path inside it.`,
    )
  }
}

const unreadable = (path: string, error: unknown): ToolError => {
  switch (codeOf(error)) {
    case 'ENOENT':
      return new ToolError(`${path} does not exist. See what is there with list, or find it with search.`)
    case 'ENOTDIR':
      return new ToolError(`A part of ${path} is a file, not a directory.`)
    case 'EACCES':
    case 'EPERM':
      return new ToolError(`${path}: permission denied.`)
    case 'ELOOP':
      return new ToolError(`${path}: its links lead in a circle.`)
    default:
      return new ToolError(`${path}: ${(error as Error).message}`)
  }
}
