import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { Writer } from '#common/kernel/database/writer.js'
import type { Wake } from '../delivery/wake.js'
import { cleared } from '../relay/concerns.js'
import type { WatchRepository } from '../watch/watch.repository.js'
import type { WatchedRepository } from '../watch/watched.repository.js'
import { hiddenObject } from './object.access.js'
import type { ObjectRepository } from './object.repository.js'
import type { ReceiverRepository } from './receiver.repository.js'

const unregister = contract['objects.object.unregister']

/** Deletes objects. */
export class UnregisterService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly objects: ObjectRepository,
    private readonly receivers: ReceiverRepository,
    private readonly watches: WatchRepository,
    private readonly watched: WatchedRepository,
    private readonly wake: Wake,
    private readonly clock: Clock,
  ) {}

  /**
   * With its receiver, what waits there, and all watches by it and of it. What it published before still goes to all who
   * watched it. A repetition is told which one was meant, for as long as its row is kept.
   *
   * @throws SvcError not_found
   */
  async unregister(ctx: Context, { ref }: InputOf<typeof unregister>): Promise<OutputOf<typeof unregister>> {
    const found = await this.objects.find(this.database, ref)
    if (found && (await this.#delete(ctx, found.id))) return { id: found.id, deleted: true }
    const gone = await this.objects.findDeleted(this.database, ref)
    if (!gone) throw hiddenObject(ref)
    return { id: gone.id, deleted: false }
  }

  /** Whether it was there still. */
  #delete(ctx: Context, id: string): Promise<boolean> {
    return this.writer.transact(ctx, async ({ tx }) => {
      const watched = await this.watches.ofWatcher(tx, id)
      await this.watched.lock(tx, [id, ...watched.map(({ source_id }) => source_id)])
      const row = await this.objects.lock(tx, id)
      if (!row) return false
      await this.watches.endOfWatcher(tx, id)
      await this.#leave(tx, id)
      const [receiver] = await this.receivers.lock(tx, [id])
      if (receiver?.status === 'paused') tx.deliver(cleared({ id, status_version: receiver.status_version + 1 }))
      const at = new Date(this.clock.now())
      this.receivers.discard(tx, [id], at)
      this.objects.save(tx, row, { deleted_at: at }, at)
      tx.afterCommit(() => this.wake.tell([id]))
      return true
    })
  }

  /** Ends what was left of deleted objects whose events were still on their way; answers of how many. */
  finish(ctx: Context, limit: number): Promise<number> {
    return this.writer.transact(ctx, async ({ tx }) => {
      const ids = await this.watched.forsaken(tx, limit)
      await this.watched.lock(tx, ids)
      for (const id of ids) await this.#leave(tx, id)
      return ids.length
    })
  }

  /** Those who watch it are named by their watches: these stay until each has what was published before. */
  async #leave(tx: Tx, id: string): Promise<void> {
    if ((await this.watched.spreading(tx, [id])) !== undefined) return
    await this.watches.endOfSource(tx, id)
    this.watched.remove(tx, [id])
  }
}
