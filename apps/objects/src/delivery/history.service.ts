import type { contract, InputOf, OutputOf } from '#common/contract/index.js'
import { type Clock, isoTime } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Writer } from '#common/kernel/database/writer.js'
import { traceIdOf } from '#common/kernel/trace/span.js'
import { deliverySeqOf, eventIdOf, eventSeqOf } from '../ids.js'
import { requireSeen } from '../object/object.access.js'
import type { ObjectRepository } from '../object/object.repository.js'
import { pageOfCut, seqBefore } from './delivery.page.js'
import { toDelivery } from './delivery.view.js'
import type { EventRecord, EventRepository } from './event.repository.js'
import type { HistoryRepository } from './history.repository.js'
import type { ReceivingObjects } from './receiving.object.js'
import type { Wake } from './wake.js'

type Deliveries = (typeof contract)['customObjects.deliveries.list']
type Replay = (typeof contract)['customObjects.deliveries.replay']
type Events = (typeof contract)['customObjects.events.list']

/** Deliveries that one transaction replays. */
const step = 2000

const toObjectEvent = (row: EventRecord): OutputOf<Events>['data'][number] => ({
  id: row.event_id ?? eventIdOf(row.source_id, row.seq),
  object_ref: row.source_id,
  seq: row.seq,
  event: row.event,
  payload: row.payload,
  published_by: row.published_by,
  accepted_at: isoTime(row.accepted_at.getTime()),
  trace_id: traceIdOf(row.traceparent),
})

/** What came to an object and what went out from it, as far as it is kept. */
export class HistoryService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly objects: ObjectRepository,
    private readonly receiving: ReceivingObjects,
    private readonly history: HistoryRepository,
    private readonly events: EventRepository,
    private readonly wake: Wake,
    private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found, receiver_unfit, validation_failed */
  async deliveries(_ctx: Context, { ref, state, after, limit }: InputOf<Deliveries>): Promise<OutputOf<Deliveries>> {
    const before = seqBefore(after)
    const { id } = await this.receiving.find(this.database, ref)
    const page = await this.history.page(this.database, id, { state, before, limit: limit + 1 })
    return pageOfCut(page, limit, { show: toDelivery, at: ({ created_at }) => created_at })
  }

  /**
   * Gives dead deliveries all their tries again, beginning now. A receiver that is paused stays so, and is sent them once it is
   * resumed. Each step stands by itself: whoever asks again after a crash goes on where it ended.
   *
   * @throws SvcError not_found, receiver_unfit
   */
  async replay(ctx: Context, { ref, ids }: InputOf<Replay>): Promise<OutputOf<Replay>> {
    const { object } = await this.receiving.findSent(this.database, ref)
    const seqs = ids?.flatMap((id) => deliverySeqOf(object.id, id) ?? [])
    let replayed = 0
    for (let last = step; last === step; ) {
      const now = new Date(this.clock.now())
      last = await this.writer.transact(ctx, async ({ tx }) => {
        const count = await this.history.replay(tx, object.id, { ...(seqs && { seqs }), now, limit: step })
        if (count > 0) this.history.due(tx, object.id, now)
        return count
      })
      replayed += last
    }
    if (replayed > 0) this.wake.tell([object.id])
    return { replayed }
  }

  /**
   * Of an object that the caller sees. A node also reads the single event that it was told of: its mail may show no more than
   * the beginning, and the owner may have had it watch what it doesn't see.
   *
   * @throws SvcError not_found, validation_failed
   */
  async published(ctx: Context, input: InputOf<Events>): Promise<OutputOf<Events>> {
    const { ref, event, after, limit } = input
    const before = seqBefore(after)
    const object = await this.objects.find(this.database, ref)
    const seq = object && input.id !== undefined ? eventSeqOf(object.id, input.id) : undefined
    const wasTold = object !== undefined && seq !== undefined && (await this.#wasTold(ctx, object.id, seq))
    const { id } = wasTold ? object : requireSeen(ctx, ref, object)
    if (input.id !== undefined && seq === undefined) return { data: [], next_cursor: null, has_more: false }
    const page = await this.events.page(this.database, id, { event, seq, before, limit: limit + 1 })
    return pageOfCut(page, limit, { show: toObjectEvent, at: ({ accepted_at }) => accepted_at })
  }

  async #wasTold({ actor: { kind, nodeId } }: Context, objectId: string, seq: number): Promise<boolean> {
    return kind === 'node' && nodeId !== undefined && this.events.isFor(this.database, nodeId, objectId, seq)
  }
}
