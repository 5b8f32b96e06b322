import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { contract, type InputOf } from '#common/contract/index.js'
import type { Delivery } from '#common/contract/object.schema.js'
import type { BusStream } from '#common/kernel/bus/stream.consumer.js'
import { Database } from '#common/kernel/database/database.js'
import { openAdmin } from '#common/testing/admin-connection.js'
import { waitFor } from '#common/testing/wait-for.js'
import { ObjectsUnderTest, ownerCall } from '../../../../test/support/objects-service.js'
import { Acks } from '../delivery/ack.repository.js'
import { deliver, writeObject } from '../delivery/delivery.fixture.js'
import { DeliveryRepository } from '../delivery/delivery.repository.js'
import { ReceivingObjects } from '../delivery/receiving.object.js'
import { Wake } from '../delivery/wake.js'
import { deliveryIdOf } from '../ids.js'
import { OpenStreams } from './open.streams.js'
import { ReceiveService } from './receive.service.js'

const receive = contract['customObjects.receive']

let objects: ObjectsUnderTest
let source: string
beforeAll(async () => {
  objects = await ObjectsUnderTest.start()
  source = (await writeObject(objects, { receiver: null })).id
})
afterAll(() => objects.stop())

const wake = (id: string): void => objects.service.app.get(Wake).tell([id])
const publish = async (receiver: string, count = 1, more: { payload?: string } = {}): Promise<void> => {
  await deliver(objects, { source, receiver, count, ...more })
  wake(receiver)
}
const open = (ref: string, more: Partial<InputOf<typeof receive>> = {}): BusStream<Delivery> =>
  objects.gateway.bus.stream(receive, ownerCall(), { ref, ...more })
const take = async (stream: BusStream<Delivery>, count: number): Promise<number[]> => {
  const seqs: number[] = []
  while (seqs.length < count) {
    const { value, done } = await stream.next()
    if (done) break
    seqs.push(value.seq)
  }
  return seqs
}
const from = (first: number, last: number): number[] => Array.from({ length: last - first + 1 }, (_, n) => first + n)
const ack = (id: string, seqs: readonly number[]) =>
  objects.call('customObjects.ack', { ref: id, ids: seqs.map((seq) => deliveryIdOf(id, seq)) })
const ending = async (stream: BusStream<Delivery>): Promise<unknown> => {
  try {
    for await (const _ of stream);
    return 'over'
  } catch (error) {
    return error
  }
}

describe('a stream of a queue', () => {
  it('begins with all that is not acknowledged, in order, and goes on with what comes', async () => {
    const { id, name } = await writeObject(objects)
    await publish(id, 1000)
    await ack(id, [...from(1, 400), ...from(500, 700)])
    const stream = open(name)
    expect(await take(stream, 399)).toEqual([...from(401, 499), ...from(701, 1000)])
    const next = stream.next()
    await publish(id, 2)
    expect((await next).value).toMatchObject({ seq: 1001, source_ref: source, object_ref: id, state: 'pending' })
    expect(await take(stream, 1)).toEqual([1002])
    await stream.return()
  })

  it('shows a delivery with its event, its source and its trace', async () => {
    const named = await writeObject(objects, { receiver: null })
    const { id } = await writeObject(objects)
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    await deliver(objects, {
      source: named.id,
      receiver: id,
      payload: '{"a":[1,null]}',
      traceparent: `00-${trace}-00f067aa0ba902b7-01`,
    })
    const stream = open(id)
    expect((await stream.next()).value).toEqual({
      id: deliveryIdOf(id, 1),
      object_ref: id,
      source_ref: named.id,
      source_name: named.name,
      event_id: expect.stringMatching(/^evt_\w{26}$/),
      event: 'e1',
      payload: { a: [1, null] },
      seq: 1,
      attempt: 0,
      state: 'pending',
      created_at: expect.any(String),
      next_attempt_at: null,
      last_error: null,
      trace_id: trace,
    })
    await stream.return()
  })

  it.each([
    [0, from(1, 10)],
    [5, [3, 6, 7, 8, 9, 10]],
    [10, [3, 6, 9]],
    [99, [3, 6, 9]],
  ])('has with `after` %s all behind it, acknowledged or not, and hides nothing that is not', async (after, seqs) => {
    const { id } = await writeObject(objects)
    await publish(id, 10)
    await ack(id, [1, 2, 4, 5, 7, 8, 10])
    const stream = open(id, { after })
    expect(await take(stream, seqs.length)).toEqual(seqs)
    const next = stream.next()
    await publish(id)
    expect((await next).value.seq).toBe(11)
    await stream.return()
  })

  it('gives to each who is connected what one of them has acknowledged already', async () => {
    const { id } = await writeObject(objects)
    const [one, other] = [open(id), open(id)]
    await Promise.all([one.opened(), other.opened()])
    const [first, second] = [one.next(), other.next()]
    await deliver(objects, { source, receiver: id })
    await ack(id, [1])
    wake(id)
    expect([(await first).value.seq, (await second).value.seq]).toEqual([1, 1])
    await Promise.all([one.return(), other.return()])
  })

  it('misses nothing and repeats nothing between what waited and what comes', async () => {
    const { id } = await writeObject(objects)
    await publish(id, 5000)
    const total = 7000
    const publishing = (async () => {
      for (let n = 5000; n < total; n += 20) await publish(id, 20)
    })()
    const streams = await Promise.all(
      Array.from({ length: 4 }, async (_, n) => {
        const stream = open(id, n % 2 ? { after: 0 } : {})
        const seqs = await take(stream, total)
        await stream.return()
        return seqs
      }),
    )
    await publishing
    for (const seqs of streams) expect(seqs).toEqual(from(1, total))
  })

  it('carries long payloads too, at the pace of who reads', async () => {
    const { id } = await writeObject(objects)
    const payload = JSON.stringify('x'.repeat(250_000))
    await publish(id, 40, { payload })
    const stream = open(id)
    expect(await take(stream, 40)).toEqual(from(1, 40))
    await stream.return()
  })

  it('is refused of an object that has no queue', async () => {
    const none = await writeObject(objects, { receiver: null })
    const url = await writeObject(objects, {
      receiver: { type: 'url', url: 'http://a.example/', allow_private: false, max_pending: 9 },
    })
    await expect(open(none.id).opened()).rejects.toMatchObject({ code: 'receiver_unfit' })
    await expect(open(url.id).opened()).rejects.toMatchObject({ code: 'receiver_unfit' })
    await expect(open('nobody').opened()).rejects.toMatchObject({ code: 'not_found' })
  })

  it('ends when its object is gone, or takes its deliveries in another way', async () => {
    const [gone, other] = [await writeObject(objects), await writeObject(objects)]
    const ends = [ending(open(gone.id)), ending(open(other.id))]
    const streams = objects.service.app.get(OpenStreams)
    await waitFor(() => streams.size >= 2, { what: 'both streams to be open' })
    await objects.database.query('UPDATE objects.objects SET deleted_at = now() WHERE id = $1', [gone.id])
    await objects.database.query('DELETE FROM objects.receivers WHERE id = $1', [gone.id])
    wake(gone.id)
    expect(await ends[0]).toMatchObject({ code: 'not_found' })
    // told by nobody
    await objects.database.query(`UPDATE objects.receivers SET kind = 'url' WHERE id = $1`, [other.id])
    objects.clock.advance(2000)
    expect(await ends[1]).toMatchObject({ code: 'receiver_unfit' })
    await waitFor(() => streams.size === 0, { what: 'no stream to be left' })
  })

  it('goes on over a loss of its connections to the database', async () => {
    const { id } = await writeObject(objects)
    const stream = open(id)
    await stream.opened()
    const admin = await openAdmin(objects.database.url)
    await admin.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'svc objects'`)
    await admin.close()
    const next = stream.next()
    await publish(id)
    expect((await next).value.seq).toBe(1)
    await stream.return()
  })
})

describe('a stream without anything to do', () => {
  it('reads once for what it is told, and nothing at all while nothing comes', async () => {
    class Counted extends DeliveryRepository {
      reads = 0
      override async followed(...asked: Parameters<DeliveryRepository['followed']>) {
        const page = await super.followed(...asked)
        this.reads += 1
        return page
      }
    }
    const { app } = objects.service
    const counted = new Counted()
    const receiving = new ReceiveService(
      app.get(Database),
      app.get(ReceivingObjects),
      counted,
      app.get(Acks),
      app.get(OpenStreams),
      objects.clock,
    )
    const { id } = await writeObject(objects)
    const stream = (await receiving.receive(ownerCall(), { ref: id }))[Symbol.asyncIterator]()
    const next = stream.next()
    await waitFor(() => counted.reads === 1, { what: 'its first look' })
    for (let round = 0; round < 5; round += 1) objects.clock.advance(2000)
    await publish(id)
    expect((await next).value.seq).toBe(1)
    expect(counted.reads).toBe(2)
    const last = stream.next()
    for (let round = 0; round < 5; round += 1) objects.clock.advance(2000)
    await objects.call('objects.status', {})
    expect(counted.reads).toBe(2)
    await publish(id)
    expect((await last).value.seq).toBe(2)
    expect(counted.reads).toBe(3)
    await stream.return?.(undefined)
  })
})

describe('a stream in another process than its publisher', () => {
  it('is woken by the bus, and sees what the bus has lost by a look at the rows', async () => {
    const other = await objects.another()
    try {
      const { id } = await writeObject(objects)
      const streams = [objects.service, other].map(({ app }) => app.get(OpenStreams))
      const all = Array.from({ length: 8 }, () => open(id))
      await Promise.all(all.map((stream) => stream.opened()))
      await waitFor(() => streams.every(({ size }) => size > 0), { what: 'streams in both processes' })
      const told = all.map((stream) => stream.next())
      await publish(id)
      for (const next of told) expect((await next).value.seq).toBe(1)
      const lost = all.map((stream) => stream.next())
      await deliver(objects, { source, receiver: id })
      objects.clock.advance(2000)
      for (const next of lost) expect((await next).value.seq).toBe(2)
      await Promise.all(all.map((stream) => stream.return()))
    } finally {
      await objects.stopService(other)
    }
  })
})
