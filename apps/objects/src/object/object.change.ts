import { isDeepStrictEqual } from 'node:util'
import { type ObjectUpdate, objectLimits, type Receiver, type ReceiverChange } from '#common/contract/object.schema.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Acks } from '../delivery/ack.repository.js'
import type { Wake } from '../delivery/wake.js'
import { cleared } from '../relay/concerns.js'
import type { WatchRepository } from '../watch/watch.repository.js'
import { catalogDifferences } from './catalog.compatibility.js'
import type { ObjectRecord } from './object.record.js'
import type { ObjectRepository } from './object.repository.js'
import type { ReceiverRepository, ReceiverShape } from './receiver.repository.js'

export type ObjectChanges = Pick<ObjectUpdate, 'description' | 'catalog' | 'receiver'>

/** How a change is made. */
export interface Manner {
  /** Also when its catalog is incompatible. */
  readonly force: boolean
  readonly at: Date
  /** What to do about an incompatible catalog, where the usual advice doesn't fit. */
  readonly remedy?: string
}

export const shapeOf = (id: string, receiver: Receiver): ReceiverShape => ({
  id,
  kind: receiver.type,
  max_pending: receiver.max_pending,
})

/** Changes an object that a transaction has locked, after its row of objects.sources: nobody publishes meanwhile. */
export class ObjectChange {
  constructor(
    private readonly objects: ObjectRepository,
    private readonly receivers: ReceiverRepository,
    private readonly watches: WatchRepository,
    private readonly acks: Acks,
    private readonly wake: Wake,
  ) {}

  /** @throws SvcError catalog_incompatible, unless it is forced; receiver_unfit when a receiver is needed still */
  async apply(
    tx: Tx,
    before: ObjectRecord,
    { description, catalog, receiver: asked }: ObjectChanges,
    { force, at, remedy }: Manner,
  ): Promise<ObjectRecord> {
    const changes: Partial<{ -readonly [K in keyof ObjectRecord]: ObjectRecord[K] }> = {}
    if (description !== undefined && description !== before.description) changes.description = description
    if (catalog !== undefined && !isDeepStrictEqual(catalog, before.catalog)) {
      if (!force) requireCompatible(before, catalog, remedy)
      changes.catalog = catalog
      changes.catalog_version = before.catalog_version + 1
    }
    const receiver = asked && settled(asked, before.receiver)
    if (receiver !== undefined && !isDeepStrictEqual(receiver, before.receiver)) {
      await this.#receive(tx, before, receiver, at)
      changes.receiver = receiver
    }
    return Object.keys(changes).length === 0 ? before : this.objects.save(tx, before, changes, at)
  }

  async #receive(tx: Tx, before: ObjectRecord, receiver: Receiver | null, at: Date): Promise<void> {
    const { id } = before
    const [row] = await this.receivers.lock(tx, [id])
    if (receiver === null) await this.#requireIdle(tx, before)
    else if (!row) this.receivers.make(tx, [shapeOf(id, receiver)])
    else {
      if (isElsewhere(before.receiver, receiver)) this.receivers.redirect(tx, shapeOf(id, receiver), at)
      this.receivers.bound(tx, shapeOf(id, receiver))
      this.acks.measure(tx, id, at)
    }
    // where nothing is sent, nothing is held back, and nobody needs to see to it
    if (row?.status === 'paused' && (receiver === null || receiver.type === 'queue')) {
      this.receivers.activate(tx, id)
      tx.deliver(cleared({ id, status_version: row.status_version + 1 }))
    }
    tx.afterCommit(() => this.wake.tell([id]))
  }

  /** Its row stays, so that numbers go on where they were should it get a receiver again. */
  async #requireIdle(tx: Tx, { id, name }: ObjectRecord): Promise<void> {
    const [watched, pending] = await Promise.all([this.watches.countOfWatcher(tx, id), this.receivers.pending(tx, id)])
    if (watched > 0) throw unfit(id, `The object ${name} watches ${watched} others, whose events need a receiver.`)
    if (pending > 0) throw unfit(id, `${pending} deliveries to the object ${name} are not acknowledged.`)
  }
}

/** A receiver that is asked for, with as many that may wait as before where none are named. */
const settled = (asked: ReceiverChange, before: Receiver | null): Receiver => ({
  ...asked,
  max_pending: asked.max_pending ?? before?.max_pending ?? objectLimits.pending,
})

/** Whether one reaches something else than the other: more than how many may wait is different. */
const isElsewhere = (before: Receiver | null, after: Receiver): boolean =>
  before === null || !isDeepStrictEqual({ ...before, max_pending: 0 }, { ...after, max_pending: 0 })

const unfit = (id: string, message: string): SvcError =>
  new SvcError('receiver_unfit', message, { resource: 'object', id })

const requireCompatible = (
  before: ObjectRecord,
  catalog: ObjectRecord['catalog'],
  remedy: string | undefined,
): void => {
  const differences = catalogDifferences(before.catalog, catalog)
  if (differences.length === 0) return
  throw new SvcError('catalog_incompatible', undefined, { differences, ...(remedy !== undefined && { remedy }) })
}
