import { idPattern } from '#common/contract/common.schema.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import { hiddenObject } from '../object/object.access.js'
import type { ObjectRecord, ReceiverKind } from '../object/object.record.js'
import type { ObjectRepository } from '../object/object.repository.js'

/** An object that has a receiver, as far as its deliveries need it: without its catalog, which may be long. */
export interface ReceivingObject {
  readonly id: string
  readonly name: string
  readonly kind: ReceiverKind
  /** Number of the last delivery to it. */
  readonly delivery_seq: number
}

type Named = Pick<ObjectRecord, 'id' | 'name'>

const unfit = ({ id, name }: Named, said: string): SvcError =>
  new SvcError('receiver_unfit', `The object ${name} ${said}.`, { resource: 'object', id })

// the row of a receiver may outlive its use
const lookup = (by: 'id' | 'name'): string =>
  `SELECT o.id, o.name, r.kind, r.delivery_seq FROM objects.objects o
     LEFT JOIN objects.receivers r ON r.id = o.id AND o.receiver IS NOT NULL
    WHERE o.${by} = $1 AND o.deleted_at IS NULL`

const queries = { id: lookup('id'), name: lookup('name') }

/** Finds the objects that something is delivered to. Only the owner asks for them. */
export class ReceivingObjects {
  constructor(private readonly objects: ObjectRepository) {}

  /** @throws SvcError not_found; receiver_unfit of one without a receiver */
  async find(reader: Reader, ref: string): Promise<ReceivingObject> {
    const text = idPattern('obj').test(ref) ? queries.id : queries.name
    const [row] = await reader.query<Named & (ReceivingObject | { kind: null })>(text, [ref])
    if (!row) throw hiddenObject(ref)
    if (row.kind === null) throw unfit(row, 'has no receiver')
    return row
  }

  /** @throws SvcError not_found; receiver_unfit of one that is not a queue */
  async findQueue(reader: Reader, ref: string): Promise<ReceivingObject> {
    const found = await this.find(reader, ref)
    if (found.kind !== 'queue') throw unfit(found, `is sent its deliveries (${found.kind})`)
    return found
  }

  /** With its whole record. @throws SvcError not_found; receiver_unfit of one that is not sent to by the daemon */
  async findSent(reader: Reader, ref: string): Promise<{ readonly object: ObjectRecord }> {
    const object = await this.objects.find(reader, ref)
    if (!object) throw hiddenObject(ref)
    if (object.receiver === null) throw unfit(object, 'has no receiver')
    if (object.receiver.type === 'queue') throw unfit(object, 'is a queue, whose deliveries are not sent')
    return { object }
  }
}
