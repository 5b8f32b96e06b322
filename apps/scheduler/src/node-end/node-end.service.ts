import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import type { Inbox } from '#common/kernel/database/inbox.js'
import type { Writer } from '#common/kernel/database/writer.js'
import type { CronRecord } from '../cron/cron.record.js'
import type { CronRemoval } from '../cron/cron.removal.js'
import type { CronRepository } from '../cron/cron.repository.js'
import { type HolderRepository, holderOfNode } from '../cron/holder.repository.js'

type Ended = (typeof contract)['scheduler.node.ended']
type End = InputOf<Ended>

/** Which schedules go with a node, of those that it armed and those aimed at it: none that was armed after it was brought back. */
const goes = ({ how, node_id, ended_at }: End, { owner_node_id, schedule, created_at }: CronRecord): boolean => {
  if (how === 'pruned') return true
  if (created_at > new Date(ended_at)) return false
  return how === 'canceled' || (owner_node_id === node_id && 'at' in schedule)
}

/** Takes the schedules of nodes away that have ended. */
export class NodeEndService {
  constructor(
    private readonly writer: Writer,
    private readonly inbox: Inbox,
    private readonly crons: CronRepository,
    private readonly holders: HolderRepository,
    private readonly removal: CronRemoval,
  ) {}

  /** Once for each event; a repetition finds nothing to do. */
  ended(ctx: Context, end: End): Promise<OutputOf<Ended>> {
    const { source_event, node_id, how, ended_at } = end
    return this.writer.transact(ctx, async ({ tx }) => {
      let deleted: readonly CronRecord[] = []
      await this.inbox.once(tx, 'lifecycle', source_event, async () => {
        // one that was finalized keeps what fires again and again, and may be given more
        if (how !== 'finalized') this.holders.end(tx, holderOfNode(node_id), new Date(ended_at))
        deleted = (await this.crons.lockOfNode(tx, node_id)).filter((cron) => goes(end, cron))
        this.removal.remove(tx, deleted)
      })
      return { deleted: deleted.map(({ id }) => id) }
    })
  }
}
