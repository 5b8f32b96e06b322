import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { LedgerEntry } from '#common/contract/ledger.operations.js'
import type { Receiver } from '#common/contract/object.schema.js'
import type { Context } from '#common/kernel/context.js'
import { newId } from '#common/kernel/ids.js'
import { appCall, nodeCall, ObjectsUnderTest } from '../../../../test/support/objects-service.js'
import { deliver, writeObject } from '../delivery/delivery.fixture.js'
import { deliveryIdOf } from '../ids.js'

const url: Receiver = { type: 'url', url: 'http://a.example/', allow_private: false, max_pending: 100_000 }
const minute = 60_000
const at = (n: number): Date => new Date(Date.UTC(2026, 0, 1) + n * minute)

let objects: ObjectsUnderTest
let source: { id: string; name: string }
let sink: { id: string; name: string }
let queue: { id: string; name: string }
beforeAll(async () => {
  objects = await ObjectsUnderTest.start()
  source = await writeObject(objects, { receiver: null, name: 'source' })
  sink = await writeObject(objects, { receiver: url, name: 'sink' })
  queue = await writeObject(objects, { name: 'queue' })
  // so that nothing is sent meanwhile
  await objects.database.query(
    `UPDATE objects.receivers SET held_until = now() + interval '1 day', holder = 'the test'`,
  )
  await deliver(objects, { source: source.id, receiver: sink.id, count: 8, at: at(0) })
  await fail(1, 'dead', at(1))
  await fail(2, 'failed', at(2))
  await refuse(source.id, queue.id, at(3), 7)
  await fail(3, 'failed', at(4))
})
afterAll(() => objects.stop())

const fail = (seq: number, state: 'failed' | 'dead', noted: Date, id = sink.id) =>
  objects.database.query(
    `INSERT INTO objects.failures VALUES ($1, $2, $3, 2, CASE $3 WHEN 'failed' THEN timestamptz '2026-02-01T00:00:00Z' END,
       'the answer was 500', $4, $4)`,
    [id, seq, state, noted],
  )
const refuse = (from: string, receiver: string, last: Date, count: number) =>
  objects.database.query('INSERT INTO objects.refusals VALUES ($1, $2, $3, $4, $5)', [
    from,
    receiver,
    count,
    at(0),
    last,
  ])
const read = async (input: Record<string, unknown> = {}, ctx?: Context): Promise<LedgerEntry[]> =>
  (await objects.call('objects.ledger.read', { limit: 200, before: null, ...input }, ctx)).entries
const dlv = (seq: number): string => deliveryIdOf(sink.id, seq)
const ids = (entries: readonly LedgerEntry[]): string[] => entries.map(({ id }) => id)

describe('the ledger of deliveries', () => {
  it('has what was given up, what waits for its next try, and what was refused, the newest first', async () => {
    const entries = await read()
    expect(entries.map(({ id, kind, state, cause }) => [id, kind, state, cause])).toEqual([
      [dlv(3), 'delivery', 'waiting', 'retrying'],
      [`${source.id}:${queue.id}`, 'delivery', 'omitted', 'queue_full'],
      [dlv(2), 'delivery', 'waiting', 'retrying'],
      [dlv(1), 'delivery', 'failed', 'gave_up'],
    ])
  })

  it('says why in a sentence, since when, and which call does it now', async () => {
    const [waiting, refused, , dead] = await read()
    expect(waiting).toMatchObject({
      message: 'Tried 2 times in vain, at last: the answer was 500. The next try is at 2026-02-01T00:00:00.000Z.',
      planned_at: at(0).toISOString(),
      at: at(4).toISOString(),
      happened_at: null,
      object_id: sink.id,
      name: 'sink',
      action: null,
    })
    expect(refused).toMatchObject({
      message:
        '7 publications refused, since queue has as many unacknowledged deliveries as it may have: acknowledge what waits there, or raise its max_pending.',
      count: 7,
      object_id: source.id,
      name: 'source',
      action: null,
    })
    expect(dead).toMatchObject({
      message:
        'Tried 2 times in vain, at last: the answer was 500. It is given up until somebody replays or acknowledges it.',
      action: {
        method: 'POST',
        path: `/v1/custom-objects/${sink.id}/deliveries/replay`,
        command: `svc custom-object replay ${sink.id} ${dlv(1)}`,
      },
    })
  })

  it('names the receiver to resume where that is what keeps it', async () => {
    const paused = await writeObject(objects, { receiver: url })
    await objects.database.query(
      `UPDATE objects.receivers SET status = 'paused', reason = 'gone', paused_at = now() WHERE id = $1`,
      [paused.id],
    )
    await deliver(objects, { source: source.id, receiver: paused.id })
    await fail(1, 'failed', at(1), paused.id)
    expect(await read({ object_id: paused.id })).toMatchObject([
      { cause: 'paused', action: { path: `/v1/custom-objects/${paused.id}/resume` } },
    ])
    await objects.database.query('DELETE FROM objects.failures WHERE receiver_id = $1', [paused.id])
  })

  it('is confined to a kind, a state, an object and a moment', async () => {
    expect(ids(await read({ state: 'failed' }))).toEqual([dlv(1)])
    expect(ids(await read({ state: 'waiting' }))).toEqual([dlv(3), dlv(2)])
    expect(ids(await read({ state: 'omitted' }))).toEqual([`${source.id}:${queue.id}`])
    expect(ids(await read({ object_id: queue.id }))).toEqual([`${source.id}:${queue.id}`])
    expect(ids(await read({ object_id: source.id }))).toEqual([`${source.id}:${queue.id}`])
    expect(ids(await read({ since: at(3).toISOString() }))).toEqual([dlv(3), `${source.id}:${queue.id}`])
    expect(await read({ kind: 'slot' })).toEqual([])
    expect(await read({ cron_id: newId('cron') })).toEqual([])
    expect(await read({ app_id: 'nobody' })).toEqual([])
    expect(await read({ state: 'late' })).toEqual([])
  })

  it('is read on from any entry, also among many of one moment', async () => {
    const many = await writeObject(objects, { receiver: url, appId: 'many' })
    await deliver(objects, { source: source.id, receiver: many.id, count: 30 })
    for (let seq = 1; seq <= 30; seq += 1) await fail(seq, seq % 2 ? 'dead' : 'failed', at(seq < 25 ? 5 : 6), many.id)
    const whole = await read({ app_id: 'many' })
    expect(whole).toHaveLength(30)
    for (const limit of [1, 4, 30]) {
      const seen: LedgerEntry[] = []
      for (let before: unknown = null; ; ) {
        const page = await read({ app_id: 'many', before, limit })
        if (page.length === 0) break
        seen.push(...page)
        before = { at: page.at(-1)?.at, id: page.at(-1)?.id }
      }
      expect(seen).toEqual(whole)
    }
    const moment = at(5).toISOString()
    expect(await read({ app_id: 'many', before: { at: moment, id: 'a' } })).toEqual([])
    expect(await read({ app_id: 'many', before: { at: moment, id: 'z' } })).toHaveLength(24)
  })

  it('shows an application and its nodes what is about objects that they see, a node its own, and nobody else anything', async () => {
    const own = await writeObject(objects, { receiver: url, appId: 'shop' })
    await deliver(objects, { source: source.id, receiver: own.id })
    await fail(1, 'dead', at(9), own.id)
    const node = newId('node')
    await objects.database.query(`INSERT INTO objects.receivers (id, kind, max_pending) VALUES ($1, 'node', 9)`, [node])
    await deliver(objects, { source: source.id, receiver: node })
    await fail(1, 'failed', at(10), node)
    const shop = deliveryIdOf(own.id, 1)
    const mail = deliveryIdOf(node, 1)
    expect(ids(await read({ app_id: 'shop' }, appCall('shop')))).toEqual([shop])
    expect(ids(await read({}, nodeCall(node, { appId: 'shop' })))).toEqual([mail, shop])
    expect(ids(await read({}, appCall('other')))).toEqual([])
    expect(ids(await read({}, nodeCall(newId('node'))))).toEqual([dlv(3), `${source.id}:${queue.id}`, dlv(2), dlv(1)])
    expect(ids(await read({ node_id: node }))).toEqual([mail])
  })
})

describe('the status of the service', () => {
  it('counts what waits for a person, and names who takes no more', async () => {
    await objects.database.query('INSERT INTO objects.full_receivers VALUES ($1, now())', [queue.id])
    await objects.database.query(
      `UPDATE objects.receivers SET status = 'paused', reason = 'dead', paused_at = now() WHERE id = $1`,
      [sink.id],
    )
    const [rows] = await objects.database.query<{ dead: string; objects: string }>(
      `SELECT (SELECT count(*) FROM objects.failures WHERE state = 'dead') AS dead,
              (SELECT count(*) FROM objects.objects) AS objects`,
    )
    expect(await objects.call('objects.status', {})).toMatchObject({
      version: expect.any(String),
      objects: Number(rows?.objects),
      dead: Number(rows?.dead),
      // with the one that answered that nobody is there
      paused: 2,
      full: ['queue'],
      limits: { objects: 20_000 },
    })
  })
})
