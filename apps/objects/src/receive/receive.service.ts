import type { contract, InputOf } from '#common/contract/index.js'
import type { Delivery } from '#common/contract/object.schema.js'
import { backoff, type Clock, pause } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import { isSvcError } from '#common/kernel/errors.js'
import type { Acks } from '../delivery/ack.repository.js'
import type { CutPage } from '../delivery/delivery.page.js'
import type { DeliveryRecord, DeliveryRepository, Followed } from '../delivery/delivery.repository.js'
import { toDelivery } from '../delivery/delivery.view.js'
import type { ReceivingObjects } from '../delivery/receiving.object.js'
import type { OpenStream } from './open.stream.js'
import type { OpenStreams } from './open.streams.js'

type Input = InputOf<(typeof contract)['customObjects.receive']>

/** Deliveries of one page at most. */
const pageSize = 200
/** Where a stream begins, and what of what is acknowledged it leaves out. */
interface Start {
  readonly receiverId: string
  readonly head: number
  readonly hideUpTo: number
}

/**
 * Streams of queues. One loop for what waited and for what comes: read the next page behind the position, hand it on at the
 * pace of the consumer, wait until there is more. Numbers become visible in their order, so that nothing falls between two pages.
 */
export class ReceiveService {
  constructor(
    private readonly database: Database,
    private readonly objects: ReceivingObjects,
    private readonly deliveries: DeliveryRepository,
    private readonly acks: Acks,
    private readonly streams: OpenStreams,
    private readonly clock: Clock,
  ) {}

  /**
   * All that is not acknowledged, in order, and then each that comes, acknowledged meanwhile or not: whoever is connected is
   * given each. With `after` so all behind that position. Ends when the queue is none any more.
   *
   * @throws SvcError not_found, receiver_unfit
   */
  async receive(ctx: Context, { ref, after = Infinity }: Input): Promise<AsyncIterable<Delivery>> {
    const { id: receiverId, delivery_seq: head } = await this.objects.findQueue(this.database, ref)
    const standing = await this.acks.standing(this.database, receiverId)
    // what is deleted was acknowledged: skipped as a range, not looked for
    const hideUpTo = Math.max(Math.min(after, head), standing?.pruned_seq ?? 0)
    return this.#follow(ctx, { receiverId, head, hideUpTo })
  }

  async *#follow(ctx: Context, { receiverId, head, hideUpTo }: Start): AsyncGenerator<Delivery> {
    const { stream, leave } = this.streams.join(receiverId)
    ctx.signal.addEventListener('abort', stream.bell.ring, { once: true })
    let position = 0
    let limit = pageSize
    try {
      while (!ctx.signal.aborted) {
        stream.bell.still()
        const { rows, more } = await this.#page(ctx, stream, { after: position, hideUpTo, limit })
        for (const row of rows) {
          yield toDelivery(row)
          position = row.seq
        }
        // long payloads end a page early: then as many are not looked at again
        limit = more && rows.length < limit ? rows.length + 1 : Math.min(2 * limit, pageSize)
        if (more) continue
        stream.seen = Math.max(position, head)
        await stream.bell.heard
      }
    } finally {
      ctx.signal.removeEventListener('abort', stream.bell.ring)
      leave()
    }
  }

  /** Waits out whatever may pass: a restart of the database. @throws SvcError not_found, receiver_unfit */
  async #page(ctx: Context, stream: OpenStream, followed: Followed): Promise<CutPage<DeliveryRecord>> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const doubted = stream.takeDoubt()
        if (doubted) await this.objects.findQueue(this.database, stream.receiverId)
        const page = await this.deliveries.followed(this.database, stream.receiverId, followed)
        // rung for nothing: it may have been its end
        if (page.rows.length === 0 && stream.seen !== undefined && !doubted)
          await this.objects.findQueue(this.database, stream.receiverId)
        return page
      } catch (error) {
        if (ctx.signal.aborted || !isSvcError(error) || !error.facts.retryable) throw error
        await pause(this.clock, 20 + backoff(attempt, 50, 2000), ctx.signal)
      }
    }
  }
}
