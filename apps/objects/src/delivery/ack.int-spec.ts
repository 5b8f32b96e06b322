import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import { waitFor } from '#common/testing/wait-for.js'
import { ObjectsUnderTest } from '../../../../test/support/objects-service.js'
import { deliveryIdOf } from '../ids.js'
import { Acks } from './ack.repository.js'
import { deliver, writeObject } from './delivery.fixture.js'
import { DeliveryRepository } from './delivery.repository.js'

let objects: ObjectsUnderTest
let source: string
beforeAll(async () => {
  objects = await ObjectsUnderTest.start()
  source = (await writeObject(objects, { receiver: null })).id
})
afterAll(() => objects.stop())

const queueWith = async (count: number): Promise<string> => {
  const { id } = await writeObject(objects)
  if (count > 0) await deliver(objects, { source, receiver: id, count })
  return id
}
const ack = (id: string, seqs: readonly number[]) =>
  objects.call('customObjects.ack', { ref: id, ids: seqs.map((seq) => deliveryIdOf(id, seq)) })
/** Of all that ever came what is not acknowledged. */
const owed = { after: 0, hideUpTo: Number.MAX_SAFE_INTEGER }
const unacked = async (id: string): Promise<number[]> => {
  const { app } = objects.service
  const { rows } = await app.get(DeliveryRepository).followed(app.get(Database), id, { ...owed, limit: 1000 })
  return rows.map(({ seq }) => seq)
}
const rowOf = async (id: string) => {
  const [row] = await objects.database.query<{ acked: string; acked_count: string }>(
    'SELECT acked::text, acked_count FROM objects.acks WHERE receiver_id = $1',
    [id],
  )
  return row
}

const isAnyoneWaiting = async (): Promise<boolean> => {
  const rows = await objects.database.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )
  return rows.length > 0
}

describe('an acknowledgement', () => {
  it('is kept as it would be in a plain set, whatever the order, the repetitions and the company', async () => {
    const total = 60
    const request = fc.array(fc.integer({ min: 1, max: total }), { minLength: 1, maxLength: 12 })
    // rounds one after another, the requests of a round at once
    const rounds = fc.array(fc.array(request, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(rounds, async (asked) => {
        const id = await queueWith(total)
        const model = new Set<number>()
        for (const requests of asked) {
          const answers = await Promise.all(requests.map((seqs) => ack(id, seqs)))
          const before = model.size
          for (const seq of requests.flat()) model.add(seq)
          expect(answers.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBe(model.size - before)
          expect(answers.every(({ unknown }) => unknown.length === 0)).toBe(true)
        }
        const left = Array.from({ length: total }, (_, n) => n + 1).filter((seq) => !model.has(seq))
        expect(await unacked(id)).toEqual(left)
        expect(Number((await rowOf(id))?.acked_count)).toBe(model.size)
      }),
      { numRuns: 40 },
    )
  })

  it('holds in two processes at once', async () => {
    const other = await objects.another()
    try {
      const id = await queueWith(1000)
      const seqs = Array.from({ length: 1000 }, (_, n) => n + 1)
      // each twice in a row: often one process has the one, and the other the other
      const answers = await Promise.all(seqs.flatMap((seq) => [ack(id, [seq]), ack(id, [seq])]))
      expect(answers.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBe(1000)
      expect(await rowOf(id)).toEqual({ acked: '{[1,1001)}', acked_count: '1000' })
    } finally {
      await objects.stopService(other)
    }
  })

  it('counts once what two transactions acknowledge at the same time', async () => {
    const { app } = objects.service
    const [writer, acks] = [app.get(Writer), app.get(Acks)]
    const id = await queueWith(3)
    const acknowledge = (seqs: number[], meanwhile = async (): Promise<void> => undefined) =>
      writer.transact(systemContext('objects'), async ({ tx }) => {
        const count = await acks.acknowledge(tx, id, seqs)
        await meanwhile()
        return count
      })
    let second = Promise.resolve(0)
    const first = await acknowledge([1, 2], async () => {
      second = acknowledge([2, 3])
      await waitFor(isAnyoneWaiting, { what: 'the second one to wait for the first' })
    })
    expect([first, await second]).toEqual([2, 1])
    expect(await rowOf(id)).toEqual({ acked: '{[1,4)}', acked_count: '3' })
  })

  it('names ids that are no deliveries of this object, and takes the others', async () => {
    const id = await queueWith(2)
    const other = await queueWith(5)
    const ids = [deliveryIdOf(id, 1), deliveryIdOf(id, 3), deliveryIdOf(other, 2)]
    expect(await objects.call('customObjects.ack', { ref: id, ids })).toEqual({
      acknowledged: 1,
      unknown: [deliveryIdOf(id, 3), deliveryIdOf(other, 2)],
    })
    await deliver(objects, { source, receiver: id })
    expect(await unacked(id)).toEqual([2, 3])
    expect(await unacked(other)).toEqual([1, 2, 3, 4, 5])
  })

  it('gives up what was tried in vain, and lets a receiver that was full take more once there is room', async () => {
    const id = await queueWith(100)
    await objects.database.query('UPDATE objects.receivers SET max_pending = 100 WHERE id = $1', [id])
    await objects.database.query('INSERT INTO objects.full_receivers VALUES ($1, now())', [id])
    await objects.database.query(
      `INSERT INTO objects.failures SELECT $1, n, 'dead', 3, null, 'no', now(), now() FROM generate_series(1, 20) n`,
      [id],
    )
    const count = async (table: string): Promise<number> =>
      (await objects.database.query(`SELECT 1 FROM objects.${table} WHERE receiver_id = $1`, [id])).length
    const seqs = Array.from({ length: 10 }, (_, n) => n + 1)
    await ack(id, seqs)
    expect([await count('failures'), await count('full_receivers')]).toEqual([10, 1])
    await ack(id, [11])
    expect([await count('failures'), await count('full_receivers')]).toEqual([9, 0])
  })

  it('is refused of an object without a receiver, and of none', async () => {
    const { id } = await writeObject(objects, { receiver: null })
    await expect(ack(id, [1])).rejects.toMatchObject({ code: 'receiver_unfit' })
    await expect(ack('nobody', [1])).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('reading what is not acknowledged', () => {
  it('costs no more behind a delivery that is stuck at the front of 100,000 acknowledged ones', async () => {
    const [stuck, none] = [await queueWith(100_000), await queueWith(0)]
    await objects.database.query(
      `UPDATE objects.acks SET acked = '{[2,100001)}', acked_count = 99999 WHERE receiver_id = $1`,
      [stuck],
    )
    await deliver(objects, { source, receiver: none })
    await objects.database.query('VACUUM (ANALYZE) objects.deliveries, objects.events, objects.acks')
    expect(await unacked(stuck)).toEqual([1])
    const touched = async (id: string): Promise<number> => {
      const { app } = objects.service
      const read = { text: '', values: [] as readonly unknown[] }
      await app.get(DeliveryRepository).followed(
        {
          query: async (text, values) => {
            Object.assign(read, { text, values })
            return []
          },
        },
        id,
        { ...owed, limit: 200 },
      )
      const literal = (value: unknown): string => (typeof value === 'number' ? String(value) : `'${value}'`)
      const text = read.text.replace(/\$(\d)/g, (_, n) => literal(read.values[Number(n) - 1]))
      const [row] = await app
        .get(Database)
        .query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`)
      const plan = row?.['QUERY PLAN'][0].Plan
      return (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0)
    }
    expect(await touched(stuck)).toBeLessThanOrEqual((await touched(none)) + 6)
  })
})
