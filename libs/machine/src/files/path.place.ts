import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { FileError } from './file.error.js'
import type { FileRoot } from './file.view.js'
import { joined, type PathBytes, textOf } from './path.bytes.js'

/** Something that was found: a descriptor that stands for it without having opened it, and what it is. */
export interface Entry {
  readonly handle: FileHandle
  readonly stat: BigIntStats
}

interface DirectoryFacts {
  /** As the caller sees it. */
  readonly path: PathBytes
  /** On the disk, as far as names tell. */
  readonly real: PathBytes
  /** The root that it lies in; undefined: it only leads to one, and nothing in it may be reached besides. */
  readonly root: FileRoot | undefined
  readonly entry?: Entry
  readonly frozen?: boolean
}

/** A directory on the way of a walk. */
export class Directory {
  readonly path: PathBytes
  readonly real: PathBytes
  readonly root: FileRoot | undefined
  readonly frozen: boolean
  readonly entry: Entry | undefined

  constructor({ path, real, root, entry, frozen = false }: DirectoryFacts) {
    this.path = path
    this.real = real
    this.root = root
    this.entry = entry
    this.frozen = frozen
  }

  get fd(): number {
    if (!this.entry) throw new Error(`nothing of ${textOf(this.path)} is open`)
    return this.entry.handle.fd
  }

  get dev(): bigint | undefined {
    return this.entry?.stat.dev
  }

  async close(): Promise<void> {
    await this.entry?.handle.close()
  }
}

/** Where a walk ended: a file or a directory that is there, or a name in a directory that is still free. */
export class Place {
  /** @param name empty when the place is the last directory itself */
  constructor(
    readonly asked: string,
    private readonly frames: readonly Directory[],
    readonly name: PathBytes,
    private readonly found: Entry | undefined,
    private readonly isFrozen = false,
  ) {}

  /** The directory that the place lies in, or is. */
  get directory(): Directory {
    return this.frames.at(-1) as Directory
  }

  /** What is there; undefined: nothing. */
  get entry(): Entry | undefined {
    return this.name === '' ? this.directory.entry : this.found
  }

  /** As the caller sees it, links followed. */
  get path(): string {
    return textOf(this.name === '' ? this.directory.path : joined(this.directory.path, this.name))
  }

  /** @throws FileError unless something may be written here. */
  refuseUnlessWritable(): void {
    refuseUnlessWritable(this.directory, this.asked)
    if (this.isFrozen)
      throw new FileError('path_outside_scope', `${this.asked} stays as it is: nothing is written there.`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.found?.handle.close(), ...this.frames.map((frame) => frame.close())])
  }
}

/** @throws FileError unless something may be made in a directory. */
export const refuseUnlessWritable = ({ root, frozen }: Directory, asked: string): void => {
  if (root?.mode !== 'write') throw new FileError('path_outside_scope', `${asked} may be read but not written.`)
  if (frozen) throw new FileError('path_outside_scope', `${asked} stays as it is: nothing is written there.`)
}
