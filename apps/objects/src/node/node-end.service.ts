import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Inbox } from '#common/kernel/database/inbox.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { Writer } from '#common/kernel/database/writer.js'
import { SvcError } from '#common/kernel/errors.js'
import type { ReceiverRepository } from '../object/receiver.repository.js'
import type { HeirRepository } from '../watch/heir.repository.js'
import type { WatchedRepository } from '../watch/watched.repository.js'
import type { CanvasFollower } from './canvas.follower.js'
import type { NodeWatchRepository } from './node-watch.repository.js'

const ended = contract['objects.node.ended']
const succeeded = contract['objects.node.succeeded']
type Ended = InputOf<typeof ended>
type Succeeded = InputOf<typeof succeeded>

/** What of watches goes with a node, or over to the one that takes its place. */
export class NodeEnds {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly inbox: Inbox,
    private readonly watches: NodeWatchRepository,
    private readonly heirs: HeirRepository,
    private readonly watched: WatchedRepository,
    private readonly receivers: ReceiverRepository,
    private readonly follower: CanvasFollower,
    private readonly clock: Clock,
  ) {}

  /**
   * Once for each event; a repetition finds nothing to do. It may be told late: what a node watches that was brought back since
   * stays. Who watches a node is told of its end before that is forgotten.
   *
   * @throws SvcError service_unavailable and the like, while its events are on their way
   */
  async ended(ctx: Context, end: Ended): Promise<OutputOf<typeof ended>> {
    const { source_event, node_id, how } = end
    const by = new Date(how === 'pruned' ? this.clock.now() : end.ended_at)
    if (how !== 'finalized') await this.catchUp(ctx, node_id)
    return this.writer.transact(ctx, async ({ tx }) => {
      let removed = 0
      await this.inbox.once(tx, 'lifecycle', source_event, async () => {
        removed = await this.remove(tx, node_id, by)
        // one that was finalized may go on: whoever watches it hears of that
        if (how !== 'finalized') removed += await this.endOn(tx, node_id, by)
        if (how === 'pruned') this.watched.remove(tx, [node_id])
      })
      return { removed }
    })
  }

  /**
   * Lifecycle says that a node takes nothing more: it watches nothing any more, and what waits for it is forgotten. A watch
   * that was made after that was said stays.
   */
  async gone(ctx: Context, nodeId: string, by: Date): Promise<void> {
    await this.writer.transact(ctx, ({ tx }) => this.remove(tx, nodeId, by))
  }

  /**
   * Once for each event. That the new root gave its place on may have been told first. What waits for the old one still,
   * lifecycle gives to the last of the line. Who watches the old one is told first of all that it did, and has gone over to
   * the new one then, but for those who were not read for: nobody follows while no node is watched.
   *
   * @throws SvcError service_unavailable and the like, while its events are on their way
   */
  async succeeded(ctx: Context, { source_event, from, to, at }: Succeeded): Promise<OutputOf<typeof succeeded>> {
    const by = new Date(at)
    await this.catchUp(ctx, from)
    return this.writer.transact(ctx, async ({ tx }) => {
      let moved = 0
      await this.inbox.once(tx, 'lifecycle', source_event, async () => {
        // one by one they are brought to those who watch by then: the new one would be passed over, or come twice
        await this.requireSpread(tx, [from, ...(await this.lock(tx, from, [from, to]))])
        this.heirs.note(tx, from, to)
        const heir = await this.heirs.lastOf(tx, to)
        if (heir !== to) await this.lock(tx, from, [heir])
        moved = await this.watches.moveSource(tx, from, heir, by)
        const own = await this.watches.moveWatcher(tx, from, heir, by)
        if (own > 0) this.receivers.makeNode(tx, heir)
        moved += own
      })
      return { moved }
    })
  }

  /** What a node has done is on its way to those who watch it: once they watch it no more, they would not be found. */
  private async catchUp({ signal }: Context, nodeId: string): Promise<void> {
    const watched = await this.watched.of(this.database, [nodeId])
    if (watched.get(nodeId)?.watchers) await this.follower.catchUp(signal)
  }

  /** @throws SvcError service_unavailable: whoever told of it does so again */
  private async requireSpread(tx: Tx, ids: readonly string[]): Promise<void> {
    const id = await this.watched.spreading(tx, ids)
    if (id === undefined) return
    const message = `Events of ${id} are not with all who watch it yet.`
    throw new SvcError('service_unavailable', message, { service: 'objects' })
  }

  /** The watches on a node. */
  private async endOn(tx: Tx, nodeId: string, by: Date): Promise<number> {
    await this.requireSpread(tx, [nodeId])
    return this.watches.endOn(tx, nodeId, by)
  }

  /** The watches of a node, and its receiver when none is left. */
  private async remove(tx: Tx, nodeId: string, by: Date): Promise<number> {
    await this.lock(tx, nodeId, [nodeId])
    const removed = await this.watches.endOf(tx, nodeId, by)
    if (!(await this.watches.watches(tx, nodeId))) this.receivers.discard(tx, [nodeId], new Date(this.clock.now()))
    return removed
  }

  /**
   * The nodes, for none of which a watch is made meanwhile, and all sources whose watchers change, before any other row.
   *
   * @returns what one of them watches
   */
  private async lock(tx: Tx, watcherId: string, nodes: readonly string[]): Promise<string[]> {
    this.watched.make(tx, nodes)
    const sources = await this.watches.sourcesOf(tx, watcherId)
    await this.watched.lock(tx, [...new Set([...sources, ...nodes])])
    return sources
  }
}
