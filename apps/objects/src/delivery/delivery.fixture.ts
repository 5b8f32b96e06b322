import type { Receiver } from '#common/contract/object.schema.js'
import { systemClock } from '#common/kernel/clock.js'
import { newId } from '#common/kernel/ids.js'
import type { ObjectsUnderTest } from '../../../../test/support/objects-service.js'

type Bench = Pick<ObjectsUnderTest, 'database'>

const queue: Receiver = { type: 'queue', max_pending: 1_000_000 }

/** Writes an object with its receiver, as a registration leaves them. */
export const writeObject = async (
  { database }: Bench,
  {
    receiver = queue,
    appId = null,
    name = newId('obj').replace('_', '-'),
  }: { receiver?: Receiver | null; appId?: string | null; name?: string } = {},
): Promise<{ id: string; name: string }> => {
  const id = newId('obj')
  await database.query(
    `INSERT INTO objects.objects (id, name, description, catalog, catalog_version, receiver, app_id, created_by, version,
       created_at, updated_at)
     VALUES ($1, $2, '', '[]', 1, $3, $4, '{"kind":"owner","id":null}', 1, now(), now())`,
    [id, name, receiver && JSON.stringify(receiver), appId],
  )
  await database.query('INSERT INTO objects.sources (id) VALUES ($1)', [id])
  if (receiver) {
    await database.query('INSERT INTO objects.receivers (id, kind, max_pending) VALUES ($1, $2, $3)', [
      id,
      receiver.type,
      receiver.max_pending,
    ])
    await database.query('INSERT INTO objects.acks (receiver_id) VALUES ($1)', [id])
  }
  return { id, name }
}

/** Publishes so many events of a source to one receiver, in one transaction, and answers the number of the last delivery. */
export const deliver = async (
  { database }: Bench,
  {
    source,
    receiver,
    count = 1,
    at = new Date(systemClock.now()),
    payload = '{}',
    traceparent = null,
  }: {
    source: string
    receiver: string
    count?: number
    at?: Date
    payload?: string
    traceparent?: string | null
  },
): Promise<number> => {
  const [row] = await database.query<{ last: string }>(
    `WITH counted AS (
       UPDATE objects.sources SET event_seq = event_seq + $3 WHERE id = $1 RETURNING event_seq - $3 AS before
     ), received AS (
       UPDATE objects.receivers SET delivery_seq = delivery_seq + $3 FROM counted
        WHERE id = $2 RETURNING delivery_seq - $3 AS before, delivery_seq AS last
     ), published AS (
       INSERT INTO objects.events (source_id, seq, event, payload, published_by, accepted_at, traceparent)
       SELECT $1, before + n, 'e' || (before + n), $5::json, '{"kind":"owner","id":null}', $4, $6
         FROM counted, generate_series(1, $3) n
     ), delivered AS (
       INSERT INTO objects.deliveries (receiver_id, seq, source_id, source_seq, created_at)
       SELECT $2, r.before + n, $1, c.before + n, $4 FROM counted c, received r, generate_series(1, $3) n
     )
     SELECT last FROM received`,
    [source, receiver, count, at, payload, traceparent],
  )
  return Number(row?.last)
}
