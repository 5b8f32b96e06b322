import { Inject, Injectable } from '@nestjs/common'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { BusConnection } from '#common/kernel/bus/connection.js'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { EventLog } from '#common/kernel/database/events.js'
import { JournalRepository } from '../broker/journal.repository.js'
import { JobRepository } from '../job/job.repository.js'
import { NodeAccess } from '../node/node.access.js'
import type { NodeRecord } from '../node/node.record.js'
import { NodeRepository } from '../node/node.repository.js'

const read = contract['lifecycle.node.readEvents']

/** Part of a message of the bus that the events of one answer may fill, and about the bytes of one besides its data. */
const pageShare = 0.5
const envelopeBytes = 500
/** Ms after the end of a node in which the cost of its last answers is waited for. */
const costToldWithin = 120_000

/** The log of record, for the gateway's readers. */
@Injectable()
export class EventService {
  constructor(
    private readonly database: Database,
    private readonly log: EventLog,
    private readonly nodes: NodeRepository,
    private readonly journal: JournalRepository,
    private readonly jobs: JobRepository,
    private readonly access: NodeAccess,
    private readonly connection: BusConnection,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /**
   * A page may end before `limit` where its events are large; `head` says whether more follow. With `tree` the id is that
   * of a root.
   *
   * @throws SvcError not_found, cursor_expired with `oldest`
   */
  async read(ctx: Context, { id, tree, after, limit }: InputOf<typeof read>): Promise<OutputOf<typeof read>> {
    // the status first: when it is an ended one, the page read after it has the events that led there
    const node = await this.nodes.get(this.database, id)
    if (ctx.actor.kind !== 'system') await this.access.requireReadable(ctx, this.database, node)
    const ended = tree ? await this.nodes.isTreeEnded(this.database, id) : isEnded(node)
    const settled =
      ended &&
      !(await this.hasEndsToCome(tree ? { rootId: id } : { nodeId: id })) &&
      !(!tree && (await this.hasCostToCome(node)))
    const { events, head } = tree
      ? await this.log.pageTree(this.database, id, after, limit)
      : await this.log.page(this.database, id, after, limit)
    return { events: pagesOnTheBus(events, this.connection.maxPayload), head, settled }
  }

  /** Calls that an ended node left open have an end to come, and so have jobs that go on without it. */
  private async hasEndsToCome(of: { nodeId: string } | { rootId: string }): Promise<boolean> {
    const [calls, jobs] = await Promise.all([
      this.journal.hasOpenCalls(this.database, of),
      this.jobs.hasRunning(this.database, of),
    ])
    return calls || jobs
  }

  /** What an answer cost is told apart from it, and late where the bus was away; waited for so long, and no longer. */
  private async hasCostToCome({ id, updated_at }: NodeRecord): Promise<boolean> {
    const recent = this.clock.now() - updated_at.getTime() < costToldWithin
    return recent && (await this.journal.hasUncountedAnswers(this.database, id))
  }
}

const isEnded = ({ status }: NodeRecord): boolean => status === 'done' || status === 'dead' || status === 'canceled'

/** As many as one message of the bus carries, and at least one. */
export const pagesOnTheBus = <E extends { readonly data: unknown }>(events: readonly E[], maxPayload: number): E[] => {
  let room = maxPayload * pageShare
  return events.filter((event, at) => {
    if (room < 0) return false
    room -= Buffer.byteLength(JSON.stringify(event.data)) + envelopeBytes
    return at === 0 || room >= 0
  })
}
