import type { contract, InputOf, OutputOf } from '#common/contract/index.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Inbox } from '#common/kernel/database/inbox.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { Writer } from '#common/kernel/database/writer.js'
import type { CronRecord } from '../cron/cron.record.js'
import type { CronRemoval } from '../cron/cron.removal.js'
import type { CronRepository } from '../cron/cron.repository.js'
import type { HistoryRepository } from '../cron/history.repository.js'
import { type HolderRepository, holderOfNode } from '../cron/holder.repository.js'
import { isCarriedHere } from '../fire/unseen.js'
import { isRaised, raised } from '../relay/concerns.js'
import { changesOf, isOf, type Succession } from './node-succession.js'

type Succeeded = (typeof contract)['scheduler.node.succeeded']

/** Hands the schedules of a root over to the one that took its place. */
export class NodeSuccessionService {
  constructor(
    private readonly writer: Writer,
    private readonly inbox: Inbox,
    private readonly crons: CronRepository,
    private readonly history: HistoryRepository,
    private readonly holders: HolderRepository,
    private readonly removal: CronRemoval,
    private readonly clock: Clock,
  ) {}

  /**
   * Once for each event. Word of what became of the new root since may have come first: so they go to the last that is known
   * to have taken the place, and where that one was canceled, they go with it.
   */
  succeeded(ctx: Context, { source_event, from, to, at: iso }: InputOf<Succeeded>): Promise<OutputOf<Succeeded>> {
    const at = new Date(iso)
    return this.writer.transact(ctx, async ({ tx }) => {
      let moved: readonly CronRecord[] = []
      let deleted: readonly CronRecord[] = []
      await this.inbox.once(tx, 'lifecycle', source_event, async () => {
        this.holders.succeed(tx, from, to, at)
        const heir = await this.heirOf(tx, to, at)
        // what a root armed that was brought back since is its own
        const rows = (await this.crons.lockNaming(tx, from)).filter(({ created_at }) => created_at <= at)
        deleted = heir.ended ? rows.filter((cron) => isOf(from, cron)) : []
        moved = rows.filter((cron) => !deleted.includes(cron))
        this.removal.remove(tx, deleted)
        await this.move(tx, moved, { from, to: heir.id })
        this.history.moveTo(tx, { from, to: heir.id, at, cronIds: moved.map(({ id }) => id) })
      })
      return { moved: moved.map(({ id }) => id), deleted: deleted.map(({ id }) => id) }
    })
  }

  /** Locked, so that what is told of it meanwhile waits for this. */
  private async heirOf(tx: Tx, to: string, at: Date): Promise<{ id: string; ended: boolean }> {
    for (let id = to; ; ) {
      const ended = await this.holders.lock(tx, [holderOfNode(id)], at)
      const last = (await this.holders.line(tx, id, at)).at(-1) as string
      if (last === id) return { id, ended: ended.length > 0 }
      id = last
    }
  }

  private async move(tx: Tx, rows: readonly CronRecord[], succession: Succession): Promise<void> {
    const now = new Date(this.clock.now())
    const begun = await this.history.begun(
      tx,
      rows.filter(isCarriedHere).map(({ id }) => id),
    )
    const told = rows.filter((cron) => isRaised(cron) && cron.owner_node_id === succession.from)
    const last = await this.history.last(
      tx,
      told.map(({ id }) => id),
    )
    for (const cron of rows) {
      const changed = this.crons.save(tx, cron, changesOf(cron, succession, begun.has(cron.id)), now)
      if (!told.includes(cron)) continue
      // a person looks for it at the node that it belongs to
      const line = last.get(cron.id)
      tx.deliver(raised(changed, line ?? { error: null }, line?.ended_at ?? cron.updated_at))
    }
  }
}
