import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Inbox } from '#common/kernel/database/inbox.js'
import type { Writer } from '#common/kernel/database/writer.js'
import type { CronRecord } from '../cron/cron.record.js'
import type { CronRemoval } from '../cron/cron.removal.js'
import type { CronRepository } from '../cron/cron.repository.js'
import { type HolderRepository, holderOfNode } from '../cron/holder.repository.js'

type Ended = (typeof contract)['scheduler.node.ended']
type How = InputOf<Ended>['how']

/** Which schedules go with a node, of those that it armed and those aimed at it. */
const goes = (how: How, nodeId: string, { owner_node_id, schedule }: CronRecord): boolean =>
  how !== 'finalized' || (owner_node_id === nodeId && 'at' in schedule)

/** Takes the schedules of nodes away that have ended. */
export class NodeEndService {
  constructor(
    private readonly writer: Writer,
    private readonly inbox: Inbox,
    private readonly crons: CronRepository,
    private readonly holders: HolderRepository,
    private readonly removal: CronRemoval,
    private readonly clock: Clock,
  ) {}

  /** Once for each event; a repetition finds nothing to do. */
  ended(ctx: Context, { source_event, node_id, how }: InputOf<Ended>): Promise<OutputOf<Ended>> {
    return this.writer.transact(ctx, async ({ tx }) => {
      let deleted: readonly CronRecord[] = []
      await this.inbox.once(tx, 'lifecycle', source_event, async () => {
        // one that was finalized may be given work again, and then has schedules as before
        if (how !== 'finalized') this.holders.end(tx, holderOfNode(node_id), new Date(this.clock.now()))
        deleted = (await this.crons.lockOfNode(tx, node_id)).filter((cron) => goes(how, node_id, cron))
        this.removal.remove(tx, deleted)
      })
      return { deleted: deleted.map(({ id }) => id) }
    })
  }
}
