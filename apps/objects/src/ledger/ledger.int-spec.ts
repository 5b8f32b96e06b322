import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { LedgerEntry } from '#common/contract/ledger.operations.js'
import type { Receiver } from '#common/contract/object.schema.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import { Database } from '#common/kernel/database/database.js'
import { Writer } from '#common/kernel/database/writer.js'
import { newId } from '#common/kernel/ids.js'
import { appCall, nodeCall, ObjectsUnderTest } from '../../../../test/support/objects-service.js'
import { Acks } from '../delivery/ack.repository.js'
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
const pause = (id: string, when: Date, reason: 'asked' | 'gone' | 'dead') =>
  objects.database.query(`UPDATE objects.receivers SET status = 'paused', reason = $2, paused_at = $3 WHERE id = $1`, [
    id,
    reason,
    when,
  ])
const acknowledge = (id: string, ...seqs: number[]) =>
  objects.service.app
    .get(Writer, { strict: false })
    .transact(systemContext('objects'), ({ tx }) =>
      objects.service.app.get(Acks, { strict: false }).acknowledge(tx, id, seqs),
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
/** How the prepared statements of the service that contain a text reach their rows. */
const plansOf = async (part: string): Promise<string[]> => {
  const database = objects.service.app.get(Database, { strict: false })
  const clients = await Promise.all(Array.from({ length: 8 }, () => database.connect()))
  const plans = new Map<string, string>()
  try {
    for (const client of clients) {
      const { rows } = await client.query<{ name: string; statement: string; places: number }>(
        `SELECT name, statement, cardinality(parameter_types) AS places FROM pg_prepared_statements
          WHERE position($1 IN statement) > 0 AND statement NOT LIKE '%pg_prepared_statements%'`,
        [part],
      )
      for (const { name, statement, places } of rows) {
        const plan = await client.query<{ 'QUERY PLAN': string }>(
          `EXPLAIN (COSTS off) EXECUTE ${name}(${Array(places).fill('NULL').join(', ')})`,
        )
        plans.set(statement, plan.rows.map((row) => row['QUERY PLAN']).join('\n'))
      }
    }
  } finally {
    for (const client of clients) client.release()
  }
  return [...plans.values()]
}
/** All entries, so many at a time. */
const pages = async (input: Record<string, unknown>, limit: number): Promise<LedgerEntry[]> => {
  const seen: LedgerEntry[] = []
  for (let before: unknown = null; ; ) {
    const page = await read({ ...input, before, limit })
    if (page.length === 0) return seen
    seen.push(...page)
    before = { at: page.at(-1)?.at, id: page.at(-1)?.id }
  }
}
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
        '7 publications refused: queue had as many unacknowledged deliveries as it may have. It has room again, and refuses nothing now.',
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
    await acknowledge(paused.id, 1)
  })

  it('says how to make room for as long as the receiver is full', async () => {
    await objects.database.query('INSERT INTO objects.full_receivers VALUES ($1, now())', [queue.id])
    expect(await read({ state: 'omitted' })).toMatchObject([
      {
        message:
          '7 publications refused: queue has as many unacknowledged deliveries as it may have. Acknowledge what waits there, or raise its max_pending.',
      },
    ])
    await objects.database.query('DELETE FROM objects.full_receivers WHERE receiver_id = $1', [queue.id])

    const paused = await writeObject(objects, { receiver: url, name: 'held-up' })
    await pause(paused.id, at(0), 'asked')
    await refuse(source.id, paused.id, at(0), 1)
    await objects.database.query('INSERT INTO objects.full_receivers VALUES ($1, now())', [paused.id])
    expect(await read({ object_id: paused.id })).toMatchObject([
      {
        message:
          '1 publication refused: held-up has as many unacknowledged deliveries as it may have. Resume it, or raise its max_pending.',
        action: { command: `svc custom-object resume ${paused.id}` },
      },
    ])
    for (const table of ['full_receivers', 'refusals'])
      await objects.database.query(`DELETE FROM objects.${table} WHERE receiver_id = $1`, [paused.id])
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
      expect(await pages({ app_id: 'many' }, limit)).toEqual(whole)
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

describe('what waits for a paused receiver and was never tried', () => {
  it('is one entry of the receiver, which counts none that has an entry of its own and none that is acknowledged', async () => {
    const gone = await writeObject(objects, { receiver: url, name: 'gone-one' })
    await deliver(objects, { source: source.id, receiver: gone.id, count: 3, at: at(20) })
    await deliver(objects, { source: source.id, receiver: gone.id, count: 4, at: at(22) })
    await pause(gone.id, at(21), 'gone')
    await fail(1, 'failed', at(21), gone.id)
    await fail(3, 'dead', at(21), gone.id)
    await acknowledge(gone.id, 2, 7)
    const [waiting, ...tried] = await read({ object_id: gone.id })
    expect(waiting).toEqual({
      id: gone.id,
      kind: 'delivery',
      state: 'waiting',
      cause: 'paused',
      message:
        '3 deliveries not tried: the receiver was paused at 2026-01-01T00:21:00.000Z, when its address answered 410 (gone), and is sent nothing until it is resumed.',
      at: at(22).toISOString(),
      planned_at: at(22).toISOString(),
      happened_at: null,
      lateness_ms: null,
      count: 3,
      cron_id: null,
      node_id: null,
      request_id: null,
      object_id: gone.id,
      name: 'gone-one',
      app_id: null,
      action: {
        method: 'POST',
        path: `/v1/custom-objects/${gone.id}/resume`,
        command: `svc custom-object resume ${gone.id}`,
      },
    })
    expect(ids(tried)).toEqual(
      [3, 1]
        .map((seq) => deliveryIdOf(gone.id, seq))
        .toSorted()
        .reverse(),
    )
    await acknowledge(gone.id, 4, 5, 6)
    expect(await read({ object_id: gone.id })).toHaveLength(2)
  })

  it('is told since when the oldest waits, and is new while more comes', async () => {
    const asked = await writeObject(objects, { receiver: url, appId: 'hand' })
    await deliver(objects, { source: source.id, receiver: asked.id, at: at(30) })
    await pause(asked.id, at(31), 'asked')
    expect(await read({ app_id: 'hand', state: 'waiting' })).toMatchObject([
      {
        message:
          '1 delivery not tried: the receiver was paused at 2026-01-01T00:31:00.000Z, by hand, and is sent nothing until it is resumed.',
        planned_at: at(30).toISOString(),
        at: at(31).toISOString(),
        count: 1,
      },
    ])
    expect(await read({ app_id: 'hand', since: at(32).toISOString() })).toEqual([])
    await deliver(objects, { source: source.id, receiver: asked.id, at: at(33) })
    expect(await read({ app_id: 'hand', since: at(32).toISOString() })).toMatchObject([
      { planned_at: at(30).toISOString(), at: at(33).toISOString(), count: 2 },
    ])
    expect(await read({ app_id: 'hand', state: 'failed' })).toEqual([])
    expect(await read({ app_id: 'hand' }, appCall('other'))).toEqual([])
    expect(await read({}, appCall('hand'))).toHaveLength(1)
  })

  it('is not there where nothing waits, and goes when the receiver is resumed', async () => {
    const empty = await writeObject(objects, { receiver: url, appId: 'empty' })
    await pause(empty.id, at(40), 'asked')
    expect(await read({ app_id: 'empty' })).toEqual([])
    await deliver(objects, { source: source.id, receiver: empty.id, at: at(41) })
    expect(await read({ app_id: 'empty' })).toHaveLength(1)
    await objects.database.query(
      `UPDATE objects.receivers SET status = 'active', reason = NULL, paused_at = NULL WHERE id = $1`,
      [empty.id],
    )
    expect(await read({ app_id: 'empty' })).toEqual([])
  })

  it('is paged with the other entries, also among many of one moment', async () => {
    for (let n = 0; n < 12; n += 1) {
      const { id } = await writeObject(objects, { receiver: url, appId: 'paged' })
      await deliver(objects, { source: source.id, receiver: id, count: 2, at: at(n < 8 ? 50 : 51) })
      await pause(id, at(50), 'asked')
      await fail(1, n % 2 ? 'dead' : 'failed', at(50), id)
    }
    const whole = await read({ app_id: 'paged' })
    expect(whole).toHaveLength(24)
    expect(
      whole.filter(({ count, cause, id }) => cause === 'paused' && count === 1 && id.startsWith('obj_')),
    ).toHaveLength(12)
    for (const limit of [1, 5, 24]) expect(await pages({ app_id: 'paged' }, limit)).toEqual(whole)
  })

  it('is read by the index of the paused ones, however many receivers there are', async () => {
    await objects.database.query(
      `WITH ids AS (SELECT 'obj_idle_' || n AS id FROM generate_series(1, 20000) n),
            r AS (INSERT INTO objects.receivers (id, kind, max_pending) SELECT id, 'url', 10 FROM ids)
       INSERT INTO objects.acks (receiver_id) SELECT id FROM ids`,
    )
    await objects.database.query('ANALYZE objects.receivers, objects.acks')
    await read({ app_id: 'hand' })
    await read({ app_id: 'hand', before: { at: at(90).toISOString(), id: 'z' } })
    const plans = await plansOf('paused_at IS NOT NULL OFFSET')
    expect(plans.length).toBeGreaterThanOrEqual(3)
    for (const plan of plans) {
      expect(plan).toContain('using receivers_paused_at_idx')
      expect(plan).not.toMatch(/Seq Scan|Hash Join|Merge Join/)
      // all but that one by their keys
      expect(plan.match(/Index Cond/g)).toHaveLength((plan.match(/Index (Only )?Scan/g)?.length ?? 0) - 1)
    }
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
      // with the two that answered that nobody is there
      paused: 3,
      full: ['queue'],
      limits: { objects: 20_000 },
    })
  })
})
