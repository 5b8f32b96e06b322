import { lchown } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { SvcError } from '#common/kernel/errors.js'
import { readIfPresent, writePrivateFile } from '#common/kernel/servers/private-file.js'
import type { Mount } from '#machine/sandbox/sandbox.plan.js'
import type { NodeDirectories } from './node.directories.js'
import { within } from './real.paths.js'
import type { TreeAccess } from './tree.access.js'

const entry = z.object({
  uid: z.int(),
  /** `begun`: a part of the tree at most was given, then this process or the giving ended. */
  trees: z.array(z.object({ path: z.string(), mode: z.enum(['read', 'write']), begun: z.literal(true).optional() })),
  passages: z.array(z.string()),
})
type Entry = z.infer<typeof entry>

export interface NodeAccount {
  readonly uid: number
  readonly gid: number
}

export interface AccountRange {
  readonly from: number
  readonly to: number
}

/**
 * System accounts by number, one a node, where no namespaces can be had. What a node was given stands in the file before
 * it is given, so that it is taken back whenever this process ends.
 */
export class NodeAccounts {
  readonly #known: Map<string, Entry>
  #working: Promise<unknown> = Promise.resolve()

  /** @param file `accounts.json` in the data directory */
  constructor(
    private readonly file: string,
    private readonly range: AccountRange,
    private readonly access: TreeAccess,
  ) {
    const text = readIfPresent(file)
    this.#known = new Map(text === undefined ? [] : Object.entries(z.record(z.string(), entry).parse(JSON.parse(text))))
  }

  /** The node's account, with its directories its own and access to its mounts. One node after another. */
  prepare(
    nodeId: string,
    directories: NodeDirectories,
    mounts: readonly Mount[],
    installation: readonly string[],
  ): Promise<NodeAccount> {
    return this.#inTurn(async () => {
      const known = this.#known.get(nodeId) ?? { uid: this.#free(), trees: [], passages: [] }
      this.#note(nodeId, known)
      const { uid } = known
      const { home, temporary } = directories
      // Never by way of a link: what is in its home is the node's to change.
      await Promise.all([home, temporary, join(home, '.gitconfig')].map((path) => lchown(path, uid, uid)))
      for (const path of [home, ...mounts.map((mount) => mount.path), ...installation]) {
        await this.#pass(nodeId, path)
      }
      for (const mount of mounts) await this.#give(nodeId, mount)
      return { uid, gid: uid }
    })
  }

  /** Takes back what a node was given; its number may be another's then. */
  release(nodeId: string): Promise<void> {
    return this.#inTurn(async () => {
      const known = this.#known.get(nodeId)
      if (!known) return
      for (const { path } of known.trees) await this.access.takeBack(path, known.uid)
      for (const path of known.passages) await this.access.closePassage(path, known.uid)
      this.#known.delete(nodeId)
      this.#write()
    })
  }

  async #give(nodeId: string, { path, mode }: Mount): Promise<void> {
    const known = this.#known.get(nodeId) as Entry
    const covers = (tree: Entry['trees'][number]) => !tree.begun && (tree.mode === 'write' || mode === 'read')
    if (known.trees.some((tree) => within(path, tree.path) && covers(tree))) return
    const others = known.trees.filter((tree) => tree.path !== path)
    this.#note(nodeId, { ...known, trees: [...others, { path, mode, begun: true }] })
    try {
      await this.access.grant(path, known.uid, mode)
      this.#note(nodeId, { ...known, trees: [...others, { path, mode }] })
    } catch (error) {
      if (await this.#isTakenBack(path, known.uid)) this.#note(nodeId, { ...known, trees: others })
      // A missing directory is told by whoever starts a program there.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  /** False when it fails: what was given stays in the file then, and `release`, which tries again, says why. */
  async #isTakenBack(path: string, uid: number): Promise<boolean> {
    try {
      await this.access.takeBack(path, uid)
      return true
    } catch {
      return false
    }
  }

  async #pass(nodeId: string, path: string): Promise<void> {
    const known = this.#known.get(nodeId) as Entry
    const closed = (await this.access.closedOn(path)).filter((each) => !known.passages.includes(each))
    if (!closed.length) return
    this.#note(nodeId, { ...known, passages: [...known.passages, ...closed] })
    for (const directory of closed) await this.access.openPassage(directory, known.uid)
  }

  #free(): number {
    const taken = new Set([...this.#known.values()].map(({ uid }) => uid))
    for (let uid = this.range.from; uid <= this.range.to; uid += 1) if (!taken.has(uid)) return uid
    throw new SvcError('quota_exceeded', 'Every account of SVC_ACCOUNT_RANGE is in use', { limit: 'accounts' })
  }

  #note(nodeId: string, known: Entry): void {
    this.#known.set(nodeId, known)
    this.#write()
  }

  #write(): void {
    writePrivateFile(this.file, `${JSON.stringify(Object.fromEntries(this.#known))}\n`)
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#working.then(work, work)
    this.#working = turn.catch(() => undefined)
    return turn
  }
}
