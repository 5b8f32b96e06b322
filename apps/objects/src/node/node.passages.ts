import type { Tx } from '#common/kernel/database/tx.js'
import type { LockedSource, PublicationRepository } from '../publish/publication.repository.js'
import type { HeirRepository } from '../watch/heir.repository.js'
import type { WatchedRepository } from '../watch/watched.repository.js'
import type { NodeEvent } from './node.event.js'
import type { NodeWatchRepository } from './node-watch.repository.js'

/** A root gives its place to another, at one place of the log. */
export interface Passage {
  /** Of the event behind which it is, among those that are read together. */
  readonly at: number
  readonly root: string
  readonly successor: string
  readonly time: Date
}

const types: ReadonlySet<string> = new Set(['node.recycled', 'node.relaunched'])

/**
 * Where roots give their places to others. Both say it in one transaction, whose events the log has by the ids of the roots:
 * behind the second, the former one has said its last word, and the new one nothing that is its own.
 */
export const passagesOf = (events: readonly NodeEvent[]): Passage[] =>
  events.flatMap(({ type, subject, time, data }, at) => {
    if (!types.has(type)) return []
    const { root, successor } = data as { root: string; successor: string }
    return subject === [root, successor].sort()[1] ? [{ at, root, successor, time: new Date(time) }] : []
  })

/** Moves who watches a root to the one that takes its place, where the log has it: what the new one does next is heard. */
export class NodePassages {
  constructor(
    private readonly publications: PublicationRepository,
    private readonly watched: WatchedRepository,
    private readonly watches: NodeWatchRepository,
    private readonly heirs: HeirRepository,
  ) {}

  /**
   * Locks both roots of each, with the other sources, until commit.
   *
   * @returns whether they can be gone through: while the fan-out works at one of them, it counts on those who watch it
   */
  async lock(tx: Tx, passages: readonly Passage[], others: readonly string[]): Promise<boolean> {
    if (passages.length === 0) return true
    const roots = new Set(passages.flatMap(({ root, successor }) => [root, successor]))
    // one that nobody watches yet too: who is about to is told of the new one, or is moved
    this.watched.make(tx, [...roots])
    const sources: LockedSource[] = await this.publications.lock(tx, [...new Set([...roots, ...others])])
    return !sources.some(({ id, fanning }) => fanning && roots.has(id))
  }

  /** Its roots are locked, and all that stands before it is written. */
  async go(tx: Tx, { root, successor, time }: Passage): Promise<void> {
    this.heirs.note(tx, root, successor)
    await this.watches.moveSource(tx, root, successor, time)
  }
}
