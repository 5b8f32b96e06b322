import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Delivery, Receiver } from '#common/contract/object.schema.js'
import { newId } from '#common/kernel/ids.js'
import { appCall, nodeCall, ObjectsUnderTest } from '../../../../test/support/objects-service.js'
import { deliveryIdOf, eventIdOf } from '../ids.js'
import { deliver, writeObject } from './delivery.fixture.js'
import { Wake } from './wake.js'

const url: Receiver = { type: 'url', url: 'http://a.example/', allow_private: false, max_pending: 100_000 }

let objects: ObjectsUnderTest
let source: { id: string; name: string }
beforeAll(async () => {
  objects = await ObjectsUnderTest.start()
  source = await writeObject(objects, { receiver: null })
})
afterAll(() => objects.stop())

/** Twelve: 1–3 and 7–9 acknowledged, 4 and 10 to be tried again, 5 and 11 dead, 6 and 12 untouched; not sent meanwhile. */
const mixed = async (): Promise<string> => {
  const { id } = await writeObject(objects, { receiver: url })
  await objects.database.query(
    `UPDATE objects.receivers SET status = 'paused', reason = 'asked', paused_at = now() WHERE id = $1`,
    [id],
  )
  await deliver(objects, { source: source.id, receiver: id, count: 12 })
  await objects.database.query(
    `UPDATE objects.acks SET acked = '{[1,4),[7,10)}', acked_count = 6 WHERE receiver_id = $1`,
    [id],
  )
  await objects.database.query(
    `INSERT INTO objects.failures
     SELECT $1, n, 'failed', 2, timestamptz '2026-01-01T00:00:00Z', 'answered 500', now(), now() FROM unnest('{4,10}'::int[]) n
     UNION ALL SELECT $1, n, 'dead', 9, null, 'timed out', now(), now() FROM unnest('{5,11}'::int[]) n`,
    [id],
  )
  return id
}
const list = (ref: string, more: Record<string, unknown> = {}) =>
  objects.call('customObjects.deliveries.list', { ref, limit: 200, ...more })
const seqs = (deliveries: readonly Delivery[]): number[] => deliveries.map(({ seq }) => seq)

describe('the deliveries of a receiver', () => {
  it.each([
    [undefined, [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]],
    ['acked', [9, 8, 7, 3, 2, 1]],
    ['failed', [10, 4]],
    ['dead', [11, 5]],
    ['pending', [12, 6]],
  ] as const)('are listed by their state, the newest first, page after page: %s', async (state, wanted) => {
    const id = await mixed()
    for (const limit of [1, 2, 5, 200]) {
      const read: Delivery[] = []
      for (let after: string | undefined; ; ) {
        const page = await list(id, { limit, state, ...(after && { after }) })
        read.push(...page.data)
        if (!page.has_more) break
        after = page.next_cursor as string
      }
      expect(seqs(read)).toEqual(wanted)
      if (state) expect(new Set(read.map((one) => one.state))).toEqual(new Set([state]))
    }
  })

  it('say how they stand and where they are from', async () => {
    const { data } = await list(await mixed())
    const standing = data.map(({ state, attempt, next_attempt_at, last_error }) => [
      state,
      attempt,
      next_attempt_at,
      last_error,
    ])
    expect(standing.slice(0, 4)).toEqual([
      ['pending', 0, null, null],
      ['dead', 9, null, 'timed out'],
      ['failed', 2, '2026-01-01T00:00:00.000Z', 'answered 500'],
      ['acked', 0, null, null],
    ])
    expect(data[0]).toMatchObject({ source_ref: source.id, source_name: source.name, event: expect.any(String) })
  })

  it('come in pages that are short when payloads are long', async () => {
    const { id } = await writeObject(objects)
    const payload = JSON.stringify('x'.repeat(250_000))
    await deliver(objects, { source: source.id, receiver: id, count: 12, payload })
    const first = await list(id)
    expect(first).toMatchObject({ has_more: true, next_cursor: expect.any(String) })
    expect(seqs(first.data)).toEqual([12, 11, 10])
    expect(seqs((await list(id, { after: first.next_cursor })).data)).toEqual([9, 8, 7])
  })

  it('are refused of an object without a receiver, and with a cursor that means nothing', async () => {
    await expect(list(source.id)).rejects.toMatchObject({ code: 'receiver_unfit' })
    const { id } = await writeObject(objects)
    await expect(list(id, { after: 'nonsense' })).rejects.toMatchObject({ code: 'validation_failed' })
    await expect(list(id, { after: Buffer.from('5.abc').toString('base64url') })).rejects.toMatchObject({
      code: 'validation_failed',
    })
  })
})

describe('a replay', () => {
  const replay = (ref: string, ids?: string[]) =>
    objects.call('customObjects.deliveries.replay', { ref, ...(ids && { ids }) })

  it('gives dead ones all their tries again, those named or each', async () => {
    const id = await mixed()
    expect(
      await replay(
        id,
        [5, 6, 4].map((seq) => deliveryIdOf(id, seq)),
      ),
    ).toEqual({ replayed: 1 })
    expect((await list(id, { state: 'failed' })).data).toMatchObject([
      { seq: 10, attempt: 2 },
      { seq: 5, attempt: 0, last_error: 'timed out', next_attempt_at: expect.any(String) },
      { seq: 4, attempt: 2 },
    ])
    expect(await replay(id)).toEqual({ replayed: 1 })
    expect(await replay(id)).toEqual({ replayed: 0 })
  })

  it('makes its receiver due and says so, and leaves one that is paused as it is', async () => {
    const paused = await mixed()
    const dueOf = async (id: string) =>
      (await objects.database.query('SELECT due_at, status FROM objects.receivers WHERE id = $1', [id]))[0]
    await replay(paused)
    expect(await dueOf(paused)).toEqual({ due_at: null, status: 'paused' })
    const told: string[] = []
    const leave = objects.service.app.get(Wake).listen(paused, () => told.push(paused))
    await objects.database.query(`UPDATE objects.failures SET state = 'dead', next_attempt_at = null`)
    await replay(paused)
    expect(told).toEqual([paused])
    leave()
  })

  it('takes as many steps as there are', async () => {
    const id = await mixed()
    await deliver(objects, { source: source.id, receiver: id, count: 4988 })
    await objects.database.query(
      `INSERT INTO objects.failures SELECT $1, n, 'dead', 9, null, 'no', now(), now() FROM generate_series(13, 5000) n`,
      [id],
    )
    expect(await replay(id)).toEqual({ replayed: 4990 })
  })

  it('is refused of a queue, which has no dead ones', async () => {
    const { id } = await writeObject(objects)
    await expect(replay(id)).rejects.toMatchObject({ code: 'receiver_unfit' })
  })
})

describe('the events of an object', () => {
  it('are listed the newest first, page after page, also of one kind', async () => {
    const { id } = await writeObject(objects, { receiver: null })
    const watcher = await writeObject(objects)
    await deliver(objects, { source: id, receiver: watcher.id, count: 5, payload: '[null]' })
    const events = (more: Record<string, unknown> = {}) =>
      objects.call('customObjects.events.list', { ref: id, limit: 2, ...more })
    const first = await events()
    expect(first.data).toMatchObject([
      { seq: 5, event: 'e5', object_ref: id, payload: [null] },
      { seq: 4, id: expect.stringMatching(/^evt_\w{26}$/) },
    ])
    const second = await events({ after: first.next_cursor })
    expect(second.data.map(({ seq }) => seq)).toEqual([3, 2])
    expect(await events({ after: second.next_cursor })).toMatchObject({ data: [{ seq: 1 }], has_more: false })
    expect((await events({ event: 'e3' })).data.map(({ seq }) => seq)).toEqual([3])
  })

  it('are found one by one, however many came after it, as long as they are kept', async () => {
    const { id } = await writeObject(objects, { receiver: null })
    const watcher = await writeObject(objects)
    await deliver(objects, { source: id, receiver: watcher.id, count: 300, payload: '[null]' })
    const one = async (event_id: string, more: Record<string, unknown> = {}) =>
      (await objects.call('customObjects.events.list', { ref: id, limit: 1, id: event_id, ...more })).data
    expect(await one(eventIdOf(id, 7))).toMatchObject([{ seq: 7, id: eventIdOf(id, 7), payload: [null] }])
    expect(await one(eventIdOf(id, 7), { event: 'e8' })).toEqual([])
    expect(await one(eventIdOf(id, 301))).toEqual([])
    expect(await one(eventIdOf(watcher.id, 7))).toEqual([])
    await objects.database.query('DELETE FROM objects.events WHERE source_id = $1 AND seq = 7', [id])
    expect(await one(eventIdOf(id, 7))).toEqual([])
  })

  it('are read one by one by the node that was told of them, also of an object that it does not see', async () => {
    const { id } = await writeObject(objects, { receiver: null, appId: 'one' })
    const [node, other] = [newId('node'), newId('node')]
    const watcher = await writeObject(objects)
    await deliver(objects, { source: id, receiver: watcher.id, count: 2 })
    await objects.database.query(
      'UPDATE objects.deliveries SET receiver_id = $2 WHERE source_id = $1 AND source_seq = 1',
      [id, node],
    )
    const read = (seq: number | undefined, by: string) =>
      objects.call(
        'customObjects.events.list',
        { ref: id, limit: 2, ...(seq && { id: eventIdOf(id, seq) }) },
        nodeCall(by),
      )
    expect((await read(1, node)).data).toMatchObject([{ seq: 1 }])
    for (const [seq, by] of [
      [2, node],
      [undefined, node],
      [1, other],
    ] as const)
      await expect(read(seq, by)).rejects.toMatchObject({ code: 'not_found' })
  })

  it('are seen by whoever sees the object', async () => {
    const { id } = await writeObject(objects, { receiver: null, appId: 'one' })
    const read = (ctx: ReturnType<typeof appCall>) =>
      objects.call('customObjects.events.list', { ref: id, limit: 2 }, ctx)
    expect((await read(appCall('one'))).data).toEqual([])
    expect((await read(nodeCall(newId('node'), { appId: 'one' }))).data).toEqual([])
    await expect(read(appCall('other'))).rejects.toMatchObject({ code: 'not_found' })
    await expect(read(nodeCall(newId('node')))).rejects.toMatchObject({ code: 'not_found' })
  })
})
