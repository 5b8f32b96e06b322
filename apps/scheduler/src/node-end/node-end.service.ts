import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import type { Inbox } from '#common/kernel/database/inbox.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { Writer } from '#common/kernel/database/writer.js'
import type { CronRecord } from '../cron/cron.record.js'
import type { CronRemoval } from '../cron/cron.removal.js'
import type { CronRepository } from '../cron/cron.repository.js'
import { type HolderRepository, holderOfNode } from '../cron/holder.repository.js'
import { isOf } from './node-succession.js'

type Ended = (typeof contract)['scheduler.node.ended']
type End = InputOf<Ended>

/** Which schedules go with a node, of those that it armed and those aimed at it: none that was armed after it was brought back. */
const goes = ({ how, node_id, ended_at }: End, line: readonly string[], cron: CronRecord): boolean => {
  const { owner_node_id, schedule, created_at } = cron
  if (how === 'pruned') return isOf(node_id, cron)
  if (created_at > new Date(ended_at)) return false
  return how === 'canceled' || (line.includes(owner_node_id ?? '') && 'at' in schedule)
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
        const { line, rows } = await this.lockOf(tx, end)
        deleted = rows.filter((cron) => goes(end, line, cron))
        this.removal.remove(tx, deleted)
      })
      return { deleted: deleted.map(({ id }) => id) }
    })
  }

  /** Also what went over to who took its place since: what was armed before this end is what the node itself had. */
  private async lockOf(tx: Tx, { node_id, ended_at }: End): Promise<{ line: readonly string[]; rows: CronRecord[] }> {
    const own = await this.crons.lockOfNodes(tx, [node_id])
    // only now: who was about to move them is through
    const line = await this.holders.line(tx, node_id, new Date(ended_at))
    return { line, rows: line.length === 1 ? own : await this.crons.lockOfNodes(tx, line) }
  }
}
