import { constants } from 'node:fs'
import { type FileHandle, open, readlink } from 'node:fs/promises'
import { FileError, fileErrorOf, systemCodeOf } from './file.error.js'
import { refuseKernelFiles } from './file.systems.js'
import type { FileRoot } from './file.view.js'
import { bufferOf, bytesOf, joined, lexical, type PathBytes, pathIn, textOf } from './path.bytes.js'
import { Directory, type Entry, Place } from './path.place.js'
import type { Terrain } from './path.terrain.js'

/** O_PATH, which Node does not name: a descriptor that stands for a file without opening it. The same on all of Linux but Alpha, PA-RISC and SPARC. */
const O_PATH = 0o10000000
const look = O_PATH | constants.O_NOFOLLOW
const longestName = 255
const longestPath = 4096
/** As the kernel: more links than this are taken for a circle. */
const mostLinks = 40
/** Directories above a file; each is held open while one walks. */
const deepest = 256

export interface WalkOptions {
  /** Called with the directory that lacks one of the path's directories: makes it, or throws. Absent: none are made. */
  readonly make?: (directory: Directory, name: PathBytes) => Promise<void>
}

/**
 * One walk along a path, from directory to directory, each opened by its name in the one before and never by a longer
 * path; links are read and followed by this code. So whatever somebody renames or swaps meanwhile, what is opened lies
 * in a root of the view at that moment.
 */
export class PathWalk {
  readonly #path: string
  /** Names still to go, the next one last. */
  #pending: PathBytes[]
  #frames: Directory[] = []
  #links = 0

  private constructor(
    private readonly terrain: Terrain,
    path: string | Buffer,
    private readonly options: WalkOptions,
  ) {
    this.#path = typeof path === 'string' ? path : textOf(bytesOf(path))
    const bytes = bytesOf(path)
    if (!bytes.startsWith('/')) throw new FileError('path_invalid', `${this.#path} is not an absolute path.`)
    if (bytes.includes('\0')) throw new FileError('path_invalid', 'A path holds the character U+0000.')
    if (bytes.length > longestPath)
      throw new FileError('path_invalid', `A path of ${bytes.length} bytes is too long: ${longestPath} at most.`)
    this.#pending = bytes.split('/').reverse()
  }

  /**
   * Follows an absolute path to its end. The end may be missing, its directory may not.
   *
   * @throws FileError
   */
  static async to(terrain: Terrain, path: string | Buffer, options: WalkOptions = {}): Promise<Place> {
    const walk = new PathWalk(terrain, path, options)
    try {
      return await walk.#run()
    } catch (error) {
      await Promise.all(walk.#frames.map((frame) => frame.close()))
      throw fileErrorOf(walk.#path, error)
    }
  }

  get #top(): Directory {
    return this.#frames.at(-1) as Directory
  }

  async #run(): Promise<Place> {
    await this.#enter('/')
    for (let name = this.#pending.pop(); name !== undefined; name = this.#pending.pop()) {
      if (name === '' || name === '.') continue
      if (name === '..') {
        if (this.#frames.length > 1) await this.#frames.pop()?.close()
        continue
      }
      if (name.length > longestName)
        throw new FileError(
          'path_invalid',
          `A name of ${name.length} bytes in the path is too long: ${longestName} at most.`,
        )
      const end = await this.#step(name)
      if (end) return end
    }
    if (!this.#top.root) throw this.#outside()
    return new Place(this.#path, this.#frames, '', undefined)
  }

  /** One name further; answers the place when the way ends there. */
  async #step(name: PathBytes): Promise<Place | undefined> {
    const path = joined(this.#top.path, name)
    if (this.terrain.rootAt(path) || !this.#top.root) {
      if (!(await this.#followOutside(path))) await this.#enter(path)
      return undefined
    }
    const entry = await this.#open(name)
    if (!entry) return this.#missing(path, name)
    try {
      const became = await this.#take(entry, path, name)
      if (!became) await entry.handle.close()
      return became instanceof Place ? became : undefined
    } catch (error) {
      await entry.handle.close()
      throw error
    }
  }

  /** What an entry on the way becomes; undefined when the way goes on without it. */
  async #take(entry: Entry, path: PathBytes, name: PathBytes): Promise<Place | Directory | undefined> {
    const { handle, stat } = entry
    const real = joined(this.#top.real, name)
    if (this.terrain.isHidden(real, stat)) {
      if (!this.terrain.leadsToRoot(path)) throw this.#outside()
      this.#push(new Directory({ path, real, root: undefined }))
      return undefined
    }
    // What stands at the place of a mount is nothing to follow: the mount lies over it.
    if (!stat.isDirectory() && this.terrain.leadsToRoot(path)) {
      this.#push(new Directory({ path, real, root: undefined }))
      return undefined
    }
    if (stat.isSymbolicLink()) {
      await this.#follow(name)
      return undefined
    }
    if (stat.dev !== this.#top.dev) await refuseKernelFiles(handle, this.#path)
    const frozen = this.#top.frozen || this.terrain.isFrozen(real, stat)
    if (stat.isDirectory()) {
      const directory = new Directory({ path, real, root: this.#top.root, entry, frozen })
      this.#push(directory)
      return directory
    }
    if (this.#pending.length) throw new FileError('not_a_directory', `${textOf(path)} is not a directory.`)
    return new Place(this.#path, this.#frames, name, entry, frozen)
  }

  async #open(name: PathBytes): Promise<Entry | undefined> {
    let handle: FileHandle
    try {
      handle = await open(pathIn(this.#top.fd, name), look)
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return undefined
      throw error
    }
    try {
      return { handle, stat: await handle.stat({ bigint: true }) }
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  async #follow(name: PathBytes): Promise<void> {
    this.#countLink()
    const target = await targetOf(pathIn(this.#top.fd, name))
    // It was a link a moment ago: whatever it is now is looked at anew.
    if (target === undefined) this.#pending.push(name)
    else await this.#turnTo(target)
  }

  /** A link among those that the view names; false when there is none at this path. */
  async #followOutside(path: PathBytes): Promise<boolean> {
    if (this.terrain.rootAt(path) || !this.terrain.isLink(path)) return false
    this.#countLink()
    const target = await targetOf(bufferOf(path))
    if (target !== undefined) await this.#turnTo(target)
    return target !== undefined
  }

  #countLink(): void {
    this.#links += 1
    if (this.#links > mostLinks)
      throw new FileError('not_found', `${this.#path} leads nowhere: its links go in a circle, or are too many.`)
  }

  async #turnTo(target: PathBytes): Promise<void> {
    if (target.startsWith('/')) {
      for (const frame of this.#frames.splice(1)) await frame.close()
    }
    this.#pending.push(...target.split('/').reverse())
  }

  async #missing(path: PathBytes, name: PathBytes): Promise<Place | undefined> {
    if (this.terrain.leadsToRoot(path)) {
      this.#push(new Directory({ path, real: joined(this.#top.real, name), root: undefined }))
      return undefined
    }
    if (!this.#pending.some((one) => one !== '' && one !== '.')) {
      const real = joined(this.#top.real, name)
      if (this.terrain.isHidden(real)) throw this.#outside()
      return new Place(this.#path, this.#frames, name, undefined, this.#top.frozen || this.terrain.isFrozen(real))
    }
    // Whether somebody may go somewhere comes before whether anything is there.
    const meant = lexical(joined(path, this.#pending.toReversed().join('/')))
    if (!this.terrain.holds(meant)) throw this.#outside()
    if (!this.options.make || this.#pending.includes('..'))
      throw new FileError('not_found', `${this.#path} does not exist: there is no ${textOf(path)}.`)
    if (this.terrain.isFrozen(joined(this.#top.real, name)))
      throw new FileError('path_outside_scope', `${this.#path} stays as it is: nothing is written there.`)
    await this.options.make(this.#top, name)
    this.#pending.push(name)
    return undefined
  }

  /** Goes to a directory that is not looked for in the one before: a root, or what leads to one. */
  async #enter(path: PathBytes): Promise<void> {
    const root = this.terrain.rootAt(path)
    if (root) this.#push(await this.#openRoot(root, path))
    else if (path === '/' || this.terrain.leadsToRoot(path))
      this.#push(new Directory({ path, real: path, root: undefined }))
    else throw this.#outside()
  }

  /** By its real path, of which nothing may be a link. */
  async #openRoot(root: FileRoot, path: PathBytes): Promise<Directory> {
    const real = bytesOf(root.real)
    let handle = await open('/', look | constants.O_DIRECTORY)
    try {
      for (const part of real.split('/').filter(Boolean)) {
        const next = await open(pathIn(handle.fd, part), look)
        await handle.close()
        handle = next
        const stat = await next.stat()
        if (stat.isSymbolicLink())
          throw new FileError('path_outside_scope', `A link has taken the place of ${root.real}: it is not followed.`)
        if (!stat.isDirectory()) throw new FileError('not_a_directory', `${root.real} is not a directory.`)
      }
      const stat = await handle.stat({ bigint: true })
      if (stat.dev !== this.#frames.at(-1)?.dev) await refuseKernelFiles(handle, this.#path)
      const frozen = this.terrain.isFrozen(real, stat)
      return new Directory({ path, real, root, entry: { handle, stat }, frozen })
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  #push(frame: Directory): void {
    this.#frames.push(frame)
    if (this.#frames.length > deepest)
      throw new FileError('path_invalid', `The path goes through more than ${deepest} directories.`)
  }

  #outside(): FileError {
    return new FileError('path_outside_scope', `${this.#path} lies outside of the directories that may be reached.`)
  }
}

/** Where a link leads, as it is written; undefined when there is no link. */
const targetOf = async (path: string | Buffer): Promise<PathBytes | undefined> => {
  try {
    return (await readlink(path, { encoding: 'latin1' })) as PathBytes
  } catch (error) {
    if (['EINVAL', 'ENOENT'].includes(systemCodeOf(error) ?? '')) return undefined
    throw error
  }
}
