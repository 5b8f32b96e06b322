import type { Reader } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import { hiddenObject } from '../object/object.access.js'
import type { ObjectRecord, ReceiverRecord } from '../object/object.record.js'
import type { ObjectRepository } from '../object/object.repository.js'
import type { ReceiverRepository } from '../object/receiver.repository.js'

/** An object that has a receiver, with its receiver's row. */
export interface ReceivingObject {
  readonly object: ObjectRecord
  readonly receiver: ReceiverRecord
}

const unfit = ({ id, name }: ObjectRecord, said: string): SvcError =>
  new SvcError('receiver_unfit', `The object ${name} ${said}.`, { resource: 'object', id })

/** Finds the objects that something is delivered to. Only the owner asks for them. */
export class ReceivingObjects {
  constructor(
    private readonly objects: ObjectRepository,
    private readonly receivers: ReceiverRepository,
  ) {}

  /** @throws SvcError not_found; receiver_unfit of one without a receiver */
  async find(reader: Reader, ref: string): Promise<ReceivingObject> {
    const object = await this.objects.find(reader, ref)
    if (!object) throw hiddenObject(ref)
    const receiver = await this.receivers.find(reader, object.id)
    if (!receiver || object.receiver === null) throw unfit(object, 'has no receiver')
    return { object, receiver }
  }

  /** @throws SvcError not_found; receiver_unfit of one that is not a queue */
  async findQueue(reader: Reader, ref: string): Promise<ReceivingObject> {
    const found = await this.find(reader, ref)
    if (found.receiver.kind !== 'queue') throw unfit(found.object, `is sent its deliveries (${found.receiver.kind})`)
    return found
  }

  /** @throws SvcError not_found; receiver_unfit of one that is not sent to by the daemon */
  async findSent(reader: Reader, ref: string): Promise<ReceivingObject> {
    const found = await this.find(reader, ref)
    if (found.receiver.kind === 'queue') throw unfit(found.object, 'is a queue, whose deliveries are never given up')
    return found
  }
}
