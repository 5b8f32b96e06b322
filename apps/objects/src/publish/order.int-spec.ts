import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Database } from '#common/kernel/database/database.js'
import { openAdmin } from '#common/testing/admin-connection.js'
import { waitFor } from '#common/testing/wait-for.js'
import { ObjectsUnderTest } from '../../../../test/support/objects-service.js'
import { Wake } from '../delivery/wake.js'
import { range, Stage, type WrittenDelivery } from './publish.fixture.js'

let objects: ObjectsUnderTest
let stage: Stage

beforeEach(async () => {
  objects = await ObjectsUnderTest.start()
  stage = new Stage(objects)
})
afterEach(() => objects.stop())

const events = (from: number, to: number) => range(from, to).map((payload) => ({ payload }))

const fannedOut = (): Promise<unknown> =>
  waitFor(async () => (await objects.database.query('SELECT 1 FROM objects.fanouts')).length === 0, {
    what: 'all events to be with who watches',
  })

/** Without a gap and in the order of their sources. */
const expectInOrder = (deliveries: readonly WrittenDelivery[], wanted: Readonly<Record<string, number>>): void => {
  expect(deliveries.map(({ seq }) => seq)).toEqual(range(1, deliveries.length))
  for (const [source, count] of Object.entries(wanted)) {
    const own = deliveries.filter(({ source_id }) => source_id === source)
    expect(own.map(({ source_seq }) => source_seq)).toEqual(range(1, count))
  }
}

const countsOf = async (receivers: readonly string[]): Promise<Map<string, number>> => {
  const rows = await objects.database.query<{ receiver_id: string; n: number }>(
    `SELECT receiver_id, count(*)::int AS n, count(DISTINCT source_seq)::int AS d FROM objects.deliveries
      WHERE receiver_id = ANY ($1) GROUP BY receiver_id`,
    [receivers],
  )
  return new Map(rows.map(({ receiver_id, n }) => [receiver_id, n]))
}

/** Deliveries whose source's order is not that of their numbers, of all receivers. */
const disorder = (): Promise<unknown[]> =>
  objects.database.query(
    `SELECT * FROM (SELECT source_seq, lag(source_seq) OVER (PARTITION BY receiver_id, source_id ORDER BY seq) AS before
      FROM objects.deliveries) d WHERE before >= source_seq`,
  )

describe('the order of a source', () => {
  it('is that of its deliveries, under 16 publishers and two processes', async () => {
    await objects.another()
    const [one, two] = await Promise.all([stage.source('one'), stage.source('two')])
    const [receiver] = (await stage.watchers(one, 1)) as [string]
    await stage.watch(two, receiver)
    const [other] = (await stage.watchers(two, 1)) as [string]
    await Promise.all(
      range(1, 16).map(async (publisher) => {
        for (const n of range(1, 15)) {
          await stage.publish('one', [publisher, n])
          await stage.publishBatch('two', [{ payload: [publisher, n, 1] }, { payload: [publisher, n, 2] }])
        }
      }),
    )
    expectInOrder(await stage.deliveries(receiver), { [one]: 240, [two]: 480 })
    expectInOrder(await stage.deliveries(other), { [two]: 480 })
    const payloads = (await stage.events(two)).map(({ payload }) => payload as [number, number, number])
    for (const publisher of range(1, 16)) {
      const own = payloads.filter(([by]) => by === publisher)
      expect(own).toEqual(
        range(1, 15).flatMap((n) => [
          [publisher, n, 1],
          [publisher, n, 2],
        ]),
      )
    }
  })

  it('holds where events wait for their fan-out, and those after them have few to go to', async () => {
    const id = await stage.source('shrinking')
    const receivers = (await stage.watchers(id, 100)).sort()
    const [first, stays] = [receivers[0] as string, receivers.at(-1) as string]
    const block = await openAdmin(objects.database.url)
    await block.run(`BEGIN; SELECT 1 FROM objects.receivers WHERE id = '${first}' FOR UPDATE`)
    await stage.publishBatch('shrinking', events(1, 20))
    await objects.database.query(
      `WITH gone AS (DELETE FROM objects.watches WHERE source_id = $1 AND watcher_id <> $2)
       UPDATE objects.sources SET watchers = 1 WHERE id = $1`,
      [id, stays],
    )
    await stage.publishBatch('shrinking', events(21, 40))
    await block.run('ROLLBACK')
    await block.close()
    await fannedOut()
    await stage.publishBatch('shrinking', events(41, 60))
    expectInOrder(await stage.deliveries(stays), { [id]: 60 })
  })

  it('holds while events go by both ways, under several publishers and two processes', async () => {
    await objects.another()
    const id = await stage.source('mixed')
    const receivers = await stage.watchers(id, 70)
    const resize = (watchers: number): Promise<unknown> =>
      objects.database.query('UPDATE objects.sources SET watchers = $2 WHERE id = $1', [id, watchers])
    const publishing = Promise.all(
      range(1, 4).map(async () => {
        for (const _ of range(1, 30)) await stage.publish('mixed')
      }),
    )
    // as if some came and went
    for (const watchers of [10, 70, 10, 70, 10]) await resize(watchers)
    await publishing
    await fannedOut()
    for (const receiver of receivers.slice(0, 5)) expectInOrder(await stage.deliveries(receiver), { [id]: 120 })
    expect(await disorder()).toEqual([])
  })
})

describe('events for a thousand', () => {
  it('are accepted without waiting for them, and come to each once and in order', async () => {
    const id = await stage.source('crowd')
    const receivers = await stage.watchers(id, 1000)
    const [nobody] = (await stage.watchers(id, 1, { events: ['never'] })) as [string]
    const told = new Set<string>()
    objects.service.app.get(Wake, { strict: false }).onAny((ids) => {
      for (const each of ids) told.add(each)
    })
    const before = performance.now()
    await stage.publish('crowd', 1)
    const first = performance.now() - before
    await stage.publishBatch(
      'crowd',
      range(2, 25).map((payload) => ({ payload })),
    )
    await fannedOut()
    const took = performance.now() - before
    expect(first).toBeLessThan(took)
    expect([...(await countsOf(receivers)).values()]).toEqual(receivers.map(() => 25))
    expect(await stage.deliveries(nobody)).toEqual([])
    expect(await disorder()).toEqual([])
    expect(told).toEqual(new Set(receivers))
  })

  it('are neither lost nor doubled when the process dies between two steps, and another goes on', async () => {
    const id = await stage.source('broken-off')
    const receivers = await stage.watchers(id, 2000)
    const ids = [...receivers].sort()
    // the third step has to wait
    const block = await openAdmin(objects.database.url)
    await block.run(`BEGIN; SELECT 1 FROM objects.receivers WHERE id = '${ids[1200]}' FOR UPDATE`)
    await stage.publishBatch(
      'broken-off',
      range(1, 5).map((payload) => ({ payload })),
    )
    await waitFor(async () => {
      const [row] = await objects.database.query<{ after_watcher: string }>(
        'SELECT DISTINCT after_watcher FROM objects.fanouts',
      )
      return row?.after_watcher === ids[999]
    })
    let closed = false
    const dying = objects.service.app.get(Database, { strict: false }).close()
    void dying.then(() => {
      closed = true
    })
    await waitFor(async () => {
      await objects.database.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'svc objects'",
      )
      return closed
    })
    // let go only now: a connection that had come in between would have gone on
    await block.run('ROLLBACK')
    await block.close()
    expect((await countsOf(receivers)).size).toBe(1000)
    await objects.another()
    await fannedOut()
    expect([...(await countsOf(receivers)).values()]).toEqual(receivers.map(() => 5))
    expect(await disorder()).toEqual([])
  })

  it('do not bring back a receiver that is deleted meanwhile', async () => {
    const id = await stage.source('thinning')
    const receivers = await stage.watchers(id, 900)
    const gone = receivers.filter((_, at) => at % 3 === 0)
    await Promise.all([
      stage.publishBatch(
        'thinning',
        range(1, 30).map((payload) => ({ payload })),
      ),
      objects.database.query(
        `WITH w AS (DELETE FROM objects.watches WHERE watcher_id = ANY ($1)),
              a AS (DELETE FROM objects.acks WHERE receiver_id = ANY ($1))
         DELETE FROM objects.receivers WHERE id = ANY ($1)`,
        [gone],
      ),
    ])
    await fannedOut()
    expect(await objects.database.query('SELECT 1 FROM objects.receivers WHERE id = ANY ($1)', [gone])).toEqual([])
    const left = receivers.filter((each) => !gone.includes(each))
    expect([...(await countsOf(left)).values()]).toEqual(left.map(() => 30))
  })
})
