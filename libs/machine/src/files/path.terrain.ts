import type { BigIntStats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { systemCodeOf } from './file.error.js'
import type { FileRoot, FileView } from './file.view.js'
import { bytesOf, lexical, type PathBytes, within } from './path.bytes.js'

type Identity = `${bigint}:${bigint}`

export const identityOf = ({ dev, ino }: Pick<BigIntStats, 'dev' | 'ino'>): Identity => `${dev}:${ino}`

/** Nothing there, or nothing that could be reached by that name. */
const absent = ['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG']

const identitiesOf = async (paths: Iterable<PathBytes>): Promise<Set<Identity>> => {
  const found = await Promise.all(
    [...paths].map(async (path) => {
      try {
        return [identityOf(await lstat(Buffer.from(path, 'latin1'), { bigint: true }))]
      } catch (error) {
        if (absent.includes(systemCodeOf(error) ?? '')) return []
        throw error
      }
    }),
  )
  return new Set(found.flat())
}

/** A view, made ready to be walked in. */
export class Terrain {
  readonly #roots = new Map<PathBytes, FileRoot>()
  readonly #ways = new Set<PathBytes>()
  readonly #hidden: Set<PathBytes>
  readonly #frozen: Set<PathBytes>
  readonly #links: Set<PathBytes>
  #hiddenFiles = new Set<Identity>()
  #frozenFiles = new Set<Identity>()

  constructor(readonly view: FileView) {
    const reals = view.roots.map((root) => lexical(bytesOf(root.real)))
    const concerning = (paths: readonly string[]): Set<PathBytes> =>
      new Set(paths.map((path) => lexical(bytesOf(path))).filter((path) => reals.some((real) => within(path, real))))
    this.#hidden = concerning(view.hidden)
    this.#frozen = concerning(view.frozen)
    this.#links = new Set(view.links?.map((path) => lexical(bytesOf(path))))
    for (const link of this.#links) this.#noteWayTo(link)
    for (const root of view.roots) {
      const at = lexical(bytesOf(root.at))
      if (this.#hidden.has(at)) continue
      this.#roots.set(at, root)
      this.#noteWayTo(at)
    }
  }

  #noteWayTo(path: PathBytes): void {
    for (let way = path; way !== '/'; ) {
      way = way.slice(0, way.lastIndexOf('/')) || '/'
      this.#ways.add(way)
    }
  }

  /**
   * Looks anew at what is frozen or hidden: it is known by what it is as well as by its path, so that it can't be
   * reached by another name after a directory above it was renamed. What was once hidden stays so.
   */
  async survey(): Promise<void> {
    const [hidden, frozen] = await Promise.all([identitiesOf(this.#hidden), identitiesOf(this.#frozen)])
    this.#hiddenFiles = this.#hiddenFiles.union(hidden)
    this.#frozenFiles = frozen
  }

  rootAt(path: PathBytes): FileRoot | undefined {
    return this.#roots.get(path)
  }

  /** Whether a link may be followed here, outside of all roots. */
  isLink(path: PathBytes): boolean {
    return this.#links.has(path)
  }

  /** Whether a root lies beneath the path, or a link that may lead to one. */
  leadsToRoot(path: PathBytes): boolean {
    return this.#ways.has(path)
  }

  isHidden(real: PathBytes, stat?: BigIntStats): boolean {
    return this.#hidden.has(real) || (stat !== undefined && this.#hiddenFiles.has(identityOf(stat)))
  }

  isFrozen(real: PathBytes, stat?: BigIntStats): boolean {
    return this.#frozen.has(real) || (stat !== undefined && this.#frozenFiles.has(identityOf(stat)))
  }

  /** Whether a path, by its text, lies in a root and not in something hidden that lies deeper. */
  holds(path: PathBytes): boolean {
    const deepest = (paths: Iterable<PathBytes>): number =>
      Math.max(-1, ...[...paths].filter((one) => within(path, one)).map((one) => one.length))
    return deepest(this.#roots.keys()) > deepest(this.#hidden)
  }
}
