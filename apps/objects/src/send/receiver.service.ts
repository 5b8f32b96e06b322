import type { CustomObject } from '#common/contract/object.schema.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { Writer } from '#common/kernel/database/writer.js'
import type { ReceivingObjects } from '../delivery/receiving.object.js'
import type { Wake } from '../delivery/wake.js'
import type { ReceiverRecord } from '../object/object.record.js'
import type { ObjectViews } from '../object/object.view.js'
import { receiverMachine } from '../object/receiver.machine.js'
import type { ReceiverRepository } from '../object/receiver.repository.js'
import { cleared } from '../relay/concerns.js'
import type { SendRepository } from './send.repository.js'

interface Asked {
  readonly ref: string
}

/** Whether the daemon sends to a receiver, as its owner wants it. */
export class ReceiverService {
  constructor(
    private readonly writer: Writer,
    private readonly database: Database,
    private readonly found: ReceivingObjects,
    private readonly receivers: ReceiverRepository,
    private readonly sending: SendRepository,
    private readonly views: ObjectViews,
    private readonly wake: Wake,
    private readonly clock: Clock,
  ) {}

  /** @throws SvcError not_found, receiver_unfit */
  pause(ctx: Context, { ref }: Asked): Promise<CustomObject> {
    return this.#change(ctx, ref, 'pause')
  }

  /**
   * What waits is sent at once, whenever its next try was to be.
   *
   * @throws SvcError not_found, receiver_unfit
   */
  resume(ctx: Context, { ref }: Asked): Promise<CustomObject> {
    return this.#change(ctx, ref, 'resume')
  }

  async #change(ctx: Context, ref: string, event: 'pause' | 'resume'): Promise<CustomObject> {
    const { id } = (await this.found.findSent(this.database, ref)).object
    const object = await this.writer.transact(ctx, async ({ tx }) => {
      const [row] = await this.receivers.lock(tx, [id])
      // it may have become another one before the lock
      const { object } = await this.found.findSent(tx, id)
      if (!row || row.status === receiverMachine.next(row.status, event)) return object
      this.#apply(tx, row, event)
      tx.afterCommit(() => this.wake.tell([id]))
      return object
    })
    return this.views.one(this.database, object)
  }

  #apply(tx: Tx, row: ReceiverRecord, event: 'pause' | 'resume'): void {
    const now = new Date(this.clock.now())
    const next = { ...receiverMachine.apply(row, event), status_version: row.status_version + 1 }
    if (event === 'pause') {
      this.sending.setStatus(tx, { ...next, paused_at: now, due_at: null })
      return
    }
    this.sending.setStatus(tx, { ...next, paused_at: null, due_at: now })
    this.sending.hurry(tx, row.id, now)
    // whoever paused it by itself has told a person
    if (row.reason !== 'asked') tx.deliver(cleared(next))
  }
}
