import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { nodeLimits } from '#common/contract/node.schema.js'
import { openAdmin } from '#common/testing/admin-connection.js'
import { waitFor } from '#common/testing/wait-for.js'
import { LifecycleUnderTest } from '../../../../test/support/lifecycle-service.js'
import { ObjectsUnderTest, ownerCall } from '../../../../test/support/objects-service.js'
import { type Mail, watchingOf } from './node-watch.fixture.js'

/** Both services as they are, on one bus. */
let [lifecycle, objects] = [] as unknown as [LifecycleUnderTest, ObjectsUnderTest]
beforeAll(async () => {
  lifecycle = await LifecycleUnderTest.start()
  objects = await ObjectsUnderTest.start()
})
afterAll(async () => {
  await objects.stop()
  await lifecycle.stop()
})

const { register, queue, watch, publish, rows, watchesOf, watchers, mailOf, told, payloads, allAcked, write, resting } =
  watchingOf(
    () => lifecycle,
    () => objects,
  )

describe('a node that watches an object', () => {
  it('is woken by its event, which goes on with the request that published it', async () => {
    const [sensor, { id }] = [await register(), await resting()]
    await watch(id, sensor.name, { tier: 'urgent' })
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const { event_id } = await publish(
      sensor.name,
      { up: true },
      ownerCall({ requestId: 'req_published', traceparent }),
    )
    const { assignment } = await lifecycle.bound(id, 2)
    expect(assignment.mail).toMatchObject([
      { kind: 'event', tier: 'urgent', source: { kind: 'object', id: sensor.id, event: { id: event_id } } },
    ])
    expect(assignment.mail[0]?.traceparent).toContain('0af7651916cd43dd8448eb211c80319c')
    const accepted = (await lifecycle.recorded(id)).find(({ data }) => data.kind === 'event')
    expect(accepted?.correlation_id).toBe('req_published')
    await allAcked(id)
  })

  it('hears of nothing that was published before', async () => {
    const [sensor, { id }] = [await register(), await resting()]
    await publish(sensor.id, 'before')
    await watch(id, sensor.id)
    await publish(sensor.id, 'after')
    expect(payloads(await told(id, 1))).toEqual(['after'])
  })

  it('has each event once and in order, though objects died before it could note that', async () => {
    const [sensor, { id }] = [await register(), await resting()]
    await watch(id, sensor.id)
    for (let n = 0; n < 20; n += 1) await publish(sensor.id, n)
    await allAcked(id)
    await objects.stopService()
    // as it was before the answers came
    await rows(
      `WITH forgotten AS (
         UPDATE objects.acks SET acked = int8multirange(int8range(1, pruned_seq + 1)), acked_count = pruned_seq
          WHERE receiver_id = $1)
       UPDATE objects.receivers SET due_at = now() WHERE id = $1`,
      [id],
    )
    await objects.another()
    await publish(sensor.id, 20)
    await allAcked(id)
    expect(payloads(await mailOf(id))).toEqual(Array.from({ length: 21 }, (_, n) => n))
  })

  it('is told as all others are, however many there are', async () => {
    const sensor = await register()
    const ids = await Promise.all(Array.from({ length: 70 }, async () => (await lifecycle.create()).id))
    await Promise.all(ids.map((id) => watch(id, sensor.id)))
    await publish(sensor.id, 'all')
    for (const id of ids) expect(await told(id, 1)).toHaveLength(1)
  })
})

describe('the end of a node', () => {
  it('ends what it watches; when it was canceled, also who watches it', async () => {
    const [sensor, board] = [await register(), await register(queue)]
    const [done, canceled] = [await lifecycle.running(), await lifecycle.running()]
    for (const { node } of [done, canceled]) {
      await watch(node.id, sensor.id)
      await watch(board.id, node.id)
    }
    expect(await watchers(sensor.id)).toBe(2)
    await done.broker.push('final', 'done')
    await lifecycle.call('nodes.cancel', { id: canceled.node.id })
    await waitFor(async () => (await watchesOf(canceled.node.id)).length === 0)
    await waitFor(async () => (await watchesOf(done.node.id)).length === 1)
    expect([await watchers(sensor.id), await watchers(done.node.id), await watchers(canceled.node.id)]).toEqual([
      0, 1, 0,
    ])
    expect(await rows('SELECT 1 FROM objects.receivers WHERE id = $1', [done.node.id])).toEqual([])
  })

  it('that was not told yet is found by the first event that it takes no more', async () => {
    const [sensor, { id }] = [await register(), await lifecycle.create()]
    await watch(id, sensor.id)
    await write(`UPDATE canvas.nodes SET status = 'canceled', intent = NULL, broker_state = NULL WHERE id = '${id}'`)
    await publish(sensor.id, 'too late')
    await waitFor(async () => (await watchesOf(id)).length === 0)
    expect(await watchers(sensor.id)).toBe(0)
    expect(await rows('SELECT 1 FROM objects.receivers WHERE id = $1', [id])).toEqual([])
  })

  it('that is told late leaves what it watches since it was brought back; told again, it changes nothing', async () => {
    const [sensor, { id }] = [await register(), await lifecycle.create()]
    const end = { node_id: id, how: 'finalized', ended_at: new Date(objects.clock.now() - 1).toISOString() }
    await watch(id, sensor.id)
    expect(await objects.call('objects.node.ended', { ...end, source_event: `late ${id}` })).toEqual({ removed: 0 })
    const now = { ...end, source_event: `now ${id}`, ended_at: new Date(objects.clock.now() + 1000).toISOString() }
    expect(await objects.call('objects.node.ended', now)).toEqual({ removed: 1 })
    await watch(id, sensor.id)
    expect(await objects.call('objects.node.ended', now)).toEqual({ removed: 0 })
    expect(await watchers(sensor.id)).toBe(1)
  })

  it('takes no receiver from under a watch that is made at the same time', async () => {
    const sensor = await register()
    const nodes = await Promise.all(Array.from({ length: 10 }, () => lifecycle.create()))
    await Promise.all(nodes.map(({ id }) => watch(id, sensor.id)))
    const ended_at = new Date(objects.clock.now()).toISOString()
    const end = (id: string) =>
      objects.call('objects.node.ended', { source_event: `race ${id}`, node_id: id, how: 'finalized', ended_at })
    const other = await register()
    await Promise.all(nodes.flatMap(({ id }) => [end(id), watch(id, other.id)]))
    const without = await rows(
      `SELECT 1 FROM objects.watches w WHERE source_id = $1
        AND NOT EXISTS (SELECT FROM objects.receivers r WHERE r.id = w.watcher_id)`,
      [other.id],
    )
    expect(without).toEqual([])
    expect(await watchers(other.id)).toBe(10)
  })
})

describe('a root that takes the place of another', () => {
  it('watches and is watched in its place', async () => {
    const [sensor, board] = [await register(), await register(queue)]
    const { node } = await lifecycle.running({ lifecycle: 'resident' })
    await watch(node.id, sensor.id)
    await watch(board.id, node.id)
    const { node: next } = await lifecycle.call('nodes.recycle', { id: node.id })
    await waitFor(async () => (await watchesOf(next.id)).length === 2)
    expect(await watchesOf(node.id)).toEqual([])
    await publish(sensor.id, 'to the new one')
    expect(payloads(await told(next.id, 1))).toEqual(['to the new one'])
    expect([await watchers(sensor.id), await watchers(node.id), await watchers(next.id)]).toEqual([1, 0, 1])
  })
})

describe('a succession', () => {
  const succeed = (from: string, to: string) => {
    const at = new Date(objects.clock.now() + 1000).toISOString()
    return objects.call('objects.node.succeeded', { source_event: `${from} ${to}`, from, to, at })
  }

  // A root that watched the one before it would have watched itself, and would have been woken by its own reports for ever.
  it('ends what the two watched of each other', async () => {
    const [before, after] = await Promise.all([lifecycle.create(), lifecycle.create()])
    await watch(before.id, after.id)
    await watch(after.id, before.id)
    expect(await succeed(before.id, after.id)).toEqual({ moved: 0 })
    expect([await watchesOf(before.id), await watchesOf(after.id)]).toEqual([[], []])
    expect([await watchers(before.id), await watchers(after.id)]).toEqual([0, 0])
  })

  it('told after the next one leads to the last of the line', async () => {
    const [sensor, board] = [await register(), await register(queue)]
    const [first, second, third] = await Promise.all([lifecycle.create(), lifecycle.create(), lifecycle.create()])
    await watch(first.id, sensor.id)
    await watch(board.id, first.id)
    expect(await succeed(second.id, third.id)).toEqual({ moved: 0 })
    expect(await succeed(first.id, second.id)).toEqual({ moved: 2 })
    expect(await watchesOf(third.id)).toHaveLength(2)
    expect([await watchers(first.id), await watchers(second.id), await watchers(third.id)]).toEqual([0, 0, 1])
    await publish(sensor.id, 'to the last')
    expect(payloads(await told(third.id, 1))).toEqual(['to the last'])
  })
})

describe('a node that is watched', () => {
  const report = async (broker: Awaited<ReturnType<LifecycleUnderTest['running']>>['broker'], body: string) =>
    broker.push('update', body)
  const eventsOf = (mail: readonly Mail[]) => mail.map(({ body }) => body.split(' ')[0])

  it('has its reports told to a node, by its name, from the watch on', async () => {
    const { node: worker, broker } = await lifecycle.running({ name: 'worker' })
    const { id } = await resting()
    await report(broker, 'before')
    await watch(id, worker.id, { events: ['report.pushed'] })
    await report(broker, 'after')
    const mail = await told(id, 1)
    expect(mail).toMatchObject([{ source: { kind: 'node', id: worker.id, name: 'worker' } }])
    expect(payloads(mail)).toMatchObject([{ body: 'after' }])
    const { assignment } = await lifecycle.bound(id, 2)
    expect(assignment.mail).toMatchObject([{ kind: 'event' }])
  })

  it('has them told to each from its own watch on, though all are read together later', async () => {
    const { node: worker, broker } = await lifecycle.running()
    const [early, late] = [await resting(), await resting()]
    await watch(early.id, worker.id, { events: ['report.pushed'] })
    await watch(late.id, worker.id, { events: ['report.pushed'] })
    await objects.stopService()
    await report(broker, 'one')
    await report(broker, 'two')
    const second = (await lifecycle.recorded(worker.id)).findLast(({ type }) => type === 'report.pushed')
    await rows('UPDATE objects.watches SET created_at = $2 WHERE watcher_id = $1', [late.id, second?.time])
    await objects.another()
    await report(broker, 'three')
    expect(payloads(await told(early.id, 3)).map(({ body }) => body)).toEqual(['one', 'two', 'three'])
    expect(payloads(await told(late.id, 2)).map(({ body }) => body)).toEqual(['two', 'three'])
  })

  it('has each event told once by any number of processes, one of which ends in the middle', async () => {
    const { node: worker, broker } = await lifecycle.running()
    const board = await register(queue)
    await watch(board.id, worker.id, { events: ['report.pushed'] })
    const second = await objects.another()
    for (let n = 0; n < 30; n += 1) {
      await report(broker, `${n}`)
      if (n === 10) await objects.stopService(second)
    }
    const deliveries = () =>
      rows<{ payload: { body: string } }>(
        `SELECT e.payload FROM objects.deliveries d JOIN objects.events e ON e.source_id = d.source_id AND e.seq = d.source_seq
          WHERE d.receiver_id = $1 ORDER BY d.seq`,
        [board.id],
      )
    await waitFor(async () => (await deliveries()).length >= 30)
    expect((await deliveries()).map(({ payload }) => payload.body)).toEqual(
      Array.from({ length: 30 }, (_, n) => `${n}`),
    )
  })

  it('has its end told', async () => {
    const { node: worker } = await lifecycle.running()
    const { id } = await resting()
    await watch(id, worker.id, { events: ['node.canceled', 'node.done'] })
    await lifecycle.call('nodes.cancel', { id: worker.id })
    expect(eventsOf(await told(id, 1))).toEqual(['node.canceled'])
  })

  it('has all that it did told before who watches it is forgotten, or follows another', async () => {
    const { node: worker, broker } = await lifecycle.running()
    const { node: root, broker: reporter } = await lifecycle.running({ lifecycle: 'resident' })
    const board = await register(queue)
    for (const id of [worker.id, root.id]) await watch(board.id, id, { events: ['report.pushed', 'node.canceled'] })
    await objects.stopService()
    await report(broker, 'last')
    await report(reporter, 'before')
    await lifecycle.call('nodes.cancel', { id: worker.id })
    const { node: next } = await lifecycle.call('nodes.recycle', { id: root.id })
    // whoever reads what nodes did comes late
    const slow = await openAdmin(objects.database.url)
    await slow.run('BEGIN; SELECT 1 FROM objects.follow FOR UPDATE')
    await objects.another()
    const late = (count: number) =>
      waitFor(async () => {
        const found = await rows(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        return found.length >= count
      })
    await late(1)
    const at = new Date(objects.clock.now()).toISOString()
    const ended = { source_event: `ended ${worker.id}`, node_id: worker.id, how: 'canceled', ended_at: at }
    const succeeded = { source_event: `succeeded ${root.id}`, from: root.id, to: next.id, at }
    const told = Promise.all([
      objects.call('objects.node.ended', ended),
      objects.call('objects.node.succeeded', succeeded),
    ])
    await Promise.race([told, late(3)])
    await slow.run('ROLLBACK')
    await slow.close()
    await told
    expect(await watchesOf(next.id)).toHaveLength(1)
    expect(await watchesOf(worker.id)).toEqual([])
    const events = await rows<{ source_id: string; told: string }>(
      `SELECT d.source_id, coalesce(e.payload ->> 'body', e.event) AS told FROM objects.deliveries d
         JOIN objects.events e ON e.source_id = d.source_id AND e.seq = d.source_seq WHERE d.receiver_id = $1`,
      [board.id],
    )
    const of = (id: string) => events.filter(({ source_id }) => source_id === id).map(({ told }) => told)
    expect(of(worker.id)).toEqual(['last', 'node.canceled'])
    expect(of(root.id)).toContain('before')
  }, 60_000)

  it('has nothing told twice, and nothing left out, after a position that means nothing any more', async () => {
    const { node: worker, broker } = await lifecycle.running()
    const board = await register(queue)
    await watch(board.id, worker.id, { events: ['report.pushed'] })
    await report(broker, 'one')
    const count = async () => (await rows('SELECT 1 FROM objects.deliveries WHERE receiver_id = $1', [board.id])).length
    await waitFor(async () => (await count()) === 1)
    await objects.stopService()
    await report(broker, 'two')
    const text = 'ffffffffffff.7..0'
    const check = createHash('sha256').update(text).digest('hex').slice(0, 8)
    await rows('UPDATE objects.follow SET position = $1', [Buffer.from(`${text}.${check}`).toString('base64url')])
    await objects.another()
    await waitFor(async () => (await count()) === 2)
    expect(objects.logged.filter((line) => line.includes('means nothing any more'))).toHaveLength(1)
    await report(broker, 'three')
    await waitFor(async () => (await count()) === 3)
  })

  it('that nobody watches any more is not read; who watches the next hears what happens then', async () => {
    await rows('DELETE FROM objects.watches')
    await rows('UPDATE objects.sources SET watchers = 0')
    await waitFor(async () => (await rows('SELECT 1 FROM objects.follow WHERE position IS NULL')).length === 1)
    const { node: worker, broker } = await lifecycle.running()
    await report(broker, 'unheard')
    const { id } = await resting()
    await watch(id, worker.id, { events: ['report.pushed'] })
    await report(broker, 'heard')
    expect(payloads(await told(id, 1))).toMatchObject([{ body: 'heard' }])
  })
})

// the last ones, since they set the clock of objects ahead of that of lifecycle
describe('a node that can not be told now', () => {
  it('has what came while lifecycle was away once it is back, and nothing was noted as failed', async () => {
    const [sensor, { id }] = [await register(), await resting()]
    await watch(id, sensor.id)
    await lifecycle.stopService()
    await publish(sensor.id, 'meanwhile')
    await waitFor(() => objects.logged.some((line) => line.includes('could not be handed to nodes')))
    expect(await rows('SELECT 1 FROM objects.failures WHERE receiver_id = $1', [id])).toEqual([])
    await lifecycle.another()
    const mail = await waitFor(async () => {
      objects.clock.advance(5000)
      const found = await mailOf(id)
      return found.length > 0 && found
    })
    expect(payloads(mail)).toEqual(['meanwhile'])
  })

  it('whose box is full has its events later, in their order, and everybody sees that they wait', async () => {
    const [sensor, { id }] = [await register(), (await lifecycle.running()).node]
    await watch(id, sensor.id)
    await write(`INSERT INTO canvas.mail (id, node_id, seq, tier, kind, body, source, engagement, created_at)
      SELECT 'msg_' || n || '${id}', '${id}', 1000 + n, 'deferred', 'notice', 'n', '{"kind":"system","id":null}', 1, now()
        FROM generate_series(1, ${nodeLimits.unreadMail}) n`)
    for (const n of [1, 2, 3]) await publish(sensor.id, n)
    const waiting = async () =>
      (await objects.call('objects.ledger.read', { state: 'waiting', node_id: id, before: null, limit: 10 })).entries
    const [entry] = await waitFor(async () => {
      const found = await waiting()
      return found[0]?.count === 3 && found
    })
    expect(entry).toMatchObject({
      cause: 'retrying',
      message: expect.stringMatching(/^3 events not taken yet .* box is full/),
    })
    // for longer than a delivery has tries, all of which stays as it is
    for (let hours = 0; hours < 100; hours += 1) {
      objects.clock.advance(3_600_000)
      await waitFor(async () => (await waiting()).length === 1)
    }
    const failed = () => rows('SELECT 1 FROM objects.failures WHERE receiver_id = $1', [id])
    expect(await failed()).toEqual([])
    await publish(sensor.id, 4)
    await write(`UPDATE canvas.mail SET acknowledged_at = now() WHERE node_id = '${id}' AND kind = 'notice'`)
    const mail = await waitFor(async () => {
      objects.clock.advance(300_000)
      const found = await mailOf(id)
      return found.length === 4 && found
    })
    expect(payloads(mail)).toEqual([1, 2, 3, 4])
    expect(await failed()).toEqual([])
    await waitFor(async () => (await waiting()).length === 0)
  })
})
