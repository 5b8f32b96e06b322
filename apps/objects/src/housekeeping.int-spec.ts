import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { Writer } from '#common/kernel/database/writer.js'
import { newId } from '#common/kernel/ids.js'
import { openAdmin } from '#common/testing/admin-connection.js'
import { ObjectsUnderTest } from '../../../test/support/objects-service.js'
import { deliver, writeObject } from './delivery/delivery.fixture.js'
import { Housekeeping } from './housekeeping.js'
import { ReceiverRepository } from './object/receiver.repository.js'
import { FanOut } from './publish/fan-out.js'
import { RetentionRepository } from './retention.repository.js'

let objects: ObjectsUnderTest
beforeAll(async () => {
  objects = await ObjectsUnderTest.start({ settings: { SVC_KEEP_DELIVERIES_DAYS: 30 } })
  // what a test says is on its way stays so
  await objects.service.app.get(FanOut, { strict: false }).stop()
})
afterAll(() => objects.stop())

const day = 86_400_000
const ago = (days: number): Date => new Date(objects.clock.now() - days * day)
const round = () => objects.service.app.get(Housekeeping).round()
const transact = <T>(work: (tx: Tx) => T) =>
  objects.service.app.get(Writer).transact(systemContext('objects'), async ({ tx }) => work(tx))
const query = <T>(text: string, values: unknown[] = []) => objects.database.query<T>(text, values)
const from = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, n) => first + n)

const made = async (): Promise<{ source: string; receiver: string }> => {
  const source = (await writeObject(objects, { receiver: null })).id
  return { source, receiver: (await writeObject(objects)).id }
}
const acked = (receiver: string, ranges: string) =>
  query(
    `UPDATE objects.acks SET acked = $2::text::int8multirange,
            acked_count = (SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest($2::text::int8multirange) r)
      WHERE receiver_id = $1`,
    [receiver, ranges],
  )
const kept = async (receiver: string): Promise<number[]> => {
  const rows = await query<{ seq: string }>('SELECT seq FROM objects.deliveries WHERE receiver_id = $1 ORDER BY seq', [
    receiver,
  ])
  return rows.map(({ seq }) => Number(seq))
}
const events = async (source: string): Promise<number[]> => {
  const rows = await query<{ seq: string }>('SELECT seq FROM objects.events WHERE source_id = $1 ORDER BY seq', [
    source,
  ])
  return rows.map(({ seq }) => Number(seq))
}
const prunedOf = async (receiver: string): Promise<number> => {
  const [row] = await query<{ pruned_seq: string }>('SELECT pruned_seq FROM objects.acks WHERE receiver_id = $1', [
    receiver,
  ])
  return Number(row?.pruned_seq)
}

describe('a round of clearing', () => {
  it('deletes acknowledged deliveries that are old, with their events, and keeps what is owed for ever', async () => {
    const { source, receiver } = await made()
    await deliver(objects, { source, receiver, count: 1500, at: ago(40) })
    await deliver(objects, { source, receiver, count: 10, at: ago(29) })
    await acked(receiver, '{[1,700),[701,1400),[1450,1508)}')
    const owed = [700, ...from(1400, 1449)]
    expect(await round()).toEqual({ deliveries: 1449, events: 1449 })
    expect(await kept(receiver)).toEqual([...owed, ...from(1501, 1510)])
    expect(await events(source)).toEqual([...owed, ...from(1501, 1510)])
    expect(await prunedOf(receiver)).toBe(699)
    expect(await round()).toEqual({ deliveries: 0, events: 0 })
    await acked(receiver, '{[1,1511)}')
    await round()
    expect(await kept(receiver)).toEqual(from(1501, 1510))
    expect(await prunedOf(receiver)).toBe(1500)
  })

  it('never deletes one that is not acknowledged, whatever is', async () => {
    const total = 40
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 1, max: total })),
        fc.nat({ max: total }),
        async (done, old) => {
          const { source, receiver } = await made()
          if (old > 0) await deliver(objects, { source, receiver, count: old, at: ago(31) })
          if (old < total) await deliver(objects, { source, receiver, count: total - old, at: ago(1) })
          await acked(receiver, `{${done.map((seq) => `[${seq},${seq + 1})`).join(',')}}`)
          await round()
          const left = from(1, total).filter((seq) => seq > old || !done.includes(seq))
          expect(await kept(receiver)).toEqual(left)
          expect(await events(source)).toEqual(left)
          // whoever reads begins behind it: nothing that is kept may stand below
          expect(await prunedOf(receiver)).toBeLessThan(left[0] ?? total + 1)
        },
      ),
      { numRuns: 25 },
    )
  })

  it('keeps an event while anybody is owed it, or it is still on its way to its watchers', async () => {
    const { source, receiver } = await made()
    await deliver(objects, { source, receiver, count: 4, at: ago(40) })
    const other = (await writeObject(objects)).id
    await query('UPDATE objects.receivers SET delivery_seq = 1 WHERE id = $1', [other])
    await query('INSERT INTO objects.deliveries VALUES ($1, 1, $2, 2, null, $3)', [other, source, ago(40)])
    await query('INSERT INTO objects.fanouts VALUES ($1, 3)', [source])
    await acked(receiver, '{[1,5)}')
    await round()
    expect(await events(source)).toEqual([2, 3])
    await query('DELETE FROM objects.fanouts')
  })

  it('deletes what waited for receivers that are gone, but not what has come to one since it came back', async () => {
    const [gone, back] = [await made(), await made()]
    for (const { source, receiver } of [gone, back]) {
      await deliver(objects, { source, receiver, count: 1200 })
      await query('INSERT INTO objects.discarded VALUES ($1, now())', [receiver])
    }
    await query('DELETE FROM objects.receivers WHERE id = $1', [gone.receiver])
    await query('DELETE FROM objects.acks WHERE receiver_id = $1', [gone.receiver])
    await query(`UPDATE objects.acks SET pruned_seq = 1190, acked = '{[1,1191)}' WHERE receiver_id = $1`, [
      back.receiver,
    ])
    await round()
    expect(await kept(gone.receiver)).toEqual([])
    expect(await kept(back.receiver)).toEqual(from(1191, 1200))
    expect(await query('SELECT id FROM objects.discarded')).toEqual([])
  })

  // A node that was done, and went on an hour later, had its deliveries numbered from 1 again: by the ids that follow from the
  // numbers lifecycle took them for those that it had been given before, and no mail came of them.
  it.each([
    ['at once', async () => undefined],
    ['after what it left is deleted', round],
  ])('leaves to a node that watches again %s numbers that nobody has borne', async (_, meanwhile) => {
    const { source } = await made()
    const node = newId('node')
    const { app } = objects.service
    const receivers = app.get(ReceiverRepository)
    const make = () => transact((tx) => receivers.makeNode(tx, node))
    await make()
    const last = await deliver(objects, { source, receiver: node, count: 700 })
    await transact((tx) => receivers.discard(tx, [node], new Date(objects.clock.now())))
    await meanwhile()
    await make()
    expect(await receivers.pending(app.get(Database), node)).toBe(0)
    const next = await deliver(objects, { source, receiver: node, count: 2 })
    expect(next - 2).toBeGreaterThanOrEqual(last)
    await round()
    expect(await kept(node)).toEqual([next - 1, next])
  })

  // A step that ended behind it took the first one for gone, since nothing was unacknowledged in front of it any more.
  it('leaves none behind that is acknowledged between two of its steps', async () => {
    const { source, receiver } = await made()
    await deliver(objects, { source, receiver, count: 3, at: ago(40) })
    const step = (after: number) =>
      transact((tx) =>
        objects.service.app.get(RetentionRepository).deliveries(tx, receiver, { after, before: ago(30), limit: 1 }),
      )
    await acked(receiver, '{[2,4)}')
    await step(0)
    await acked(receiver, '{[1,4)}')
    await step(2)
    expect(await kept(receiver)).toEqual([1])
    await round()
    expect(await kept(receiver)).toEqual([])
  })

  // Whoever waited for the new use of a key to be written deleted it then.
  it('leaves a key that is used anew meanwhile to its new use', async () => {
    const { source } = await made()
    await query(`INSERT INTO objects.keys VALUES ($1, 'd:anew', null, 1, 1, $2)`, [source, ago(2)])
    const user = await openAdmin(objects.database.url)
    await user.run(`BEGIN; UPDATE objects.keys SET accepted_at = now() + interval '1 day' WHERE key = 'd:anew'`)
    await round()
    await user.run('COMMIT')
    await user.close()
    await round()
    expect(await query('DELETE FROM objects.keys RETURNING key')).toEqual([{ key: 'd:anew' }])
  })

  it('forgets keys, names, refusals, answers and messages whose time is over', async () => {
    const [one, other] = [await made(), await made()]
    const ages = [
      ['keys', `INSERT INTO objects.keys VALUES ($1, 'd:k', null, 1, 1, $2)`, 1],
      ['refusals', `INSERT INTO objects.refusals VALUES ($1, $1, 1, $2, $2)`, 30],
      ['objects', `UPDATE objects.objects SET deleted_at = $2 WHERE id = $1`, 7],
      ['inbox', `INSERT INTO objects.inbox VALUES ('lifecycle', $1, $2)`, 60],
    ] as const
    for (const [, text, days] of ages) {
      await query(text, [one.receiver, ago(days + 0.1)])
      await query(text, [other.receiver, ago(days - 0.1)])
    }
    await query(
      `INSERT INTO objects.idempotency SELECT 'owner', k, 'o', '', null, now(), now() + d * interval '1 hour'
         FROM (VALUES ('old', -1), ('young', 1)) v (k, d)`,
    )
    await round()
    const left = async (text: string) => (await query<{ id: string }>(text)).map(({ id }) => id)
    expect(await left('SELECT object_id AS id FROM objects.keys')).toEqual([other.receiver])
    expect(await left('SELECT source_id AS id FROM objects.refusals')).toEqual([other.receiver])
    expect(await left('SELECT id FROM objects.objects WHERE deleted_at IS NOT NULL')).toEqual([other.receiver])
    expect(await left('SELECT source_event AS id FROM objects.inbox')).toEqual([other.receiver])
    expect(await left('SELECT key AS id FROM objects.idempotency')).toEqual(['young'])
  })

  it('notes what it removed', async () => {
    const { source, receiver } = await made()
    await deliver(objects, { source, receiver, count: 3, at: ago(31) })
    await acked(receiver, '{[1,3)}')
    await round()
    expect(await query('SELECT class, removed::int FROM objects.retention ORDER BY class')).toEqual([
      { class: 'object_deliveries', removed: 2 },
      { class: 'object_events', removed: 2 },
    ])
  })

  it('keeps everything when it is to be kept for ever', async () => {
    const forever = await objects.another({ SVC_KEEP_DELIVERIES_DAYS: 0 })
    const { source, receiver } = await made()
    await deliver(objects, { source, receiver, at: ago(4000) })
    await acked(receiver, '{[1,2)}')
    expect(await forever.app.get(Housekeeping).round()).toEqual({ deliveries: 0, events: 0 })
    expect(await kept(receiver)).toEqual([1])
    await objects.stopService(forever)
  })
})
