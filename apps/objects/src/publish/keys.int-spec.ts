import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { systemContext } from '#common/kernel/context.js'
import { Writer } from '#common/kernel/database/writer.js'
import type { SvcError } from '#common/kernel/errors.js'
import { openAdmin } from '#common/testing/admin-connection.js'
import { waitFor } from '#common/testing/wait-for.js'
import { ObjectsUnderTest, ownerCall } from '../../../../test/support/objects-service.js'
import { Acks } from '../delivery/ack.repository.js'
import { range, Stage } from './publish.fixture.js'

const day = 24 * 3_600_000
let objects: ObjectsUnderTest
let stage: Stage

beforeAll(async () => {
  objects = await ObjectsUnderTest.start()
  await objects.another()
  stage = new Stage(objects)
})
afterAll(() => objects.stop())

const refusal = (work: Promise<unknown>): Promise<SvcError> =>
  work.then(
    () => Promise.reject(new Error('was accepted')),
    (error: SvcError) => error,
  )

/** As the gateway asks, with a place for what is to be known of the answer. */
const keyed = (key: string, more: Parameters<typeof ownerCall>[0] = {}) =>
  ownerCall({ idempotencyKey: key, notes: {}, ...more })

describe('a dedupe_key', () => {
  it('stands for the first event under it, and answers with that', async () => {
    const id = await stage.source('dedupe')
    const first = await stage.publish('dedupe', 1, { dedupe_key: 'push-1' })
    expect(await stage.publish('dedupe', 2, { dedupe_key: 'push-1' })).toEqual({ ...first, duplicate: true })
    expect(await stage.publish('dedupe', 3, { dedupe_key: 'push-2' })).toMatchObject({ seq: 2, duplicate: false })
    expect((await stage.events(id)).map(({ payload }) => payload)).toEqual([1, 3])
  })

  it('lets one of many in that come at once by two processes', async () => {
    const id = await stage.source('dedupe-race')
    const [watcher] = await stage.watchers(id, 1)
    for (const key of ['a', 'b', 'c']) {
      const answers = await Promise.all(range(1, 24).map((n) => stage.publish('dedupe-race', n, { dedupe_key: key })))
      expect(answers.filter(({ duplicate }) => !duplicate)).toHaveLength(1)
      expect(new Set(answers.map(({ event_id }) => event_id)).size).toBe(1)
    }
    expect(await stage.deliveries(String(watcher))).toHaveLength(3)
  })

  it('counts within a batch, and what else is in it is accepted', async () => {
    const id = await stage.source('dedupe-batch')
    await stage.publish('dedupe-batch', 0, { dedupe_key: 'old' })
    const answers = await stage.publishBatch('dedupe-batch', [
      { payload: 1, dedupe_key: 'new' },
      { payload: 2 },
      { payload: 3, dedupe_key: 'old' },
      { payload: 4, dedupe_key: 'new' },
      { payload: 5 },
    ])
    expect(answers.map(({ seq, duplicate }) => [seq, duplicate])).toEqual([
      [2, false],
      [3, false],
      [1, true],
      [2, true],
      [4, false],
    ])
    expect((await stage.events(id)).map(({ payload }) => payload)).toEqual([0, 1, 2, 5])
  })

  it('stands for 24 hours, also while its row is still there', async () => {
    const id = await stage.source('dedupe-day')
    const old = async (ago: number): Promise<void> => {
      await objects.database.query('UPDATE objects.keys SET accepted_at = $2 WHERE object_id = $1', [
        id,
        new Date(objects.clock.now() - ago),
      ])
    }
    await stage.publish('dedupe-day', 1, { dedupe_key: 'k' })
    await old(day - 60_000)
    expect(await stage.publish('dedupe-day', 2, { dedupe_key: 'k' })).toMatchObject({ seq: 1, duplicate: true })
    await old(day + 1)
    expect(await stage.publish('dedupe-day', 3, { dedupe_key: 'k' })).toMatchObject({ seq: 2, duplicate: false })
    expect(await stage.publish('dedupe-day', 4, { dedupe_key: 'k' })).toMatchObject({ seq: 2, duplicate: true })
  })

  it('of one object is nothing to another', async () => {
    await Promise.all([stage.source('dedupe-one'), stage.source('dedupe-two')])
    for (const name of ['dedupe-one', 'dedupe-two'])
      expect(await stage.publish(name, null, { dedupe_key: 'k' })).toMatchObject({ seq: 1, duplicate: false })
  })
})

describe('an Idempotency-Key', () => {
  it('answers a repetition with the first answer, and says so', async () => {
    const id = await stage.source('repeated')
    const ctx = keyed('one')
    const first = await stage.publish('repeated', 1, { ctx })
    expect(ctx.notes).toEqual({})
    const again = keyed('one')
    expect(await stage.publish('repeated', 1, { ctx: again })).toEqual(first)
    expect(again.notes).toEqual({ replayed: true })
    expect(await stage.events(id)).toHaveLength(1)
  })

  it('stands for its request, of its caller', async () => {
    const id = await stage.source('reused')
    await stage.publish('reused', 1, { ctx: keyed('one') })
    const others = [
      stage.publish('reused', 2, { ctx: keyed('one') }),
      stage.publish('reused', 1, { ctx: keyed('one'), dedupe_key: 'k' }),
      stage.publishBatch('reused', [{ payload: 1 }], keyed('one')),
    ]
    expect((await Promise.all(others.map(refusal))).map(({ code }) => code)).toEqual(
      others.map(() => 'idempotency_key_reused'),
    )
    const actor = { kind: 'pub' as const, principal: `object:${id}`, tokenId: 'tok_9', scopes: [] }
    expect(await stage.publish('reused', 1, { ctx: keyed('one', { actor }) })).toMatchObject({ seq: 2 })
  })

  it('lets one of many in that come at once by two processes', async () => {
    const id = await stage.source('keyed-race')
    const answers = await Promise.all(range(1, 24).map(() => stage.publish('keyed-race', 1, { ctx: keyed('same') })))
    expect(new Set(answers.map((each) => JSON.stringify(each))).size).toBe(1)
    expect(await stage.events(id)).toHaveLength(1)
  })

  it('answers a batch again as it was answered, with what was a duplicate then', async () => {
    const id = await stage.source('keyed-batch')
    await stage.publish('keyed-batch', 0, { dedupe_key: 'old' })
    const mixed = [{ payload: 1, dedupe_key: 'new' }, { payload: 2, dedupe_key: 'old' }, { payload: 3 }]
    const plain = [{ payload: 4 }, { payload: 5 }]
    for (const [key, events] of Object.entries({ mixed, plain })) {
      const first = await stage.publishBatch('keyed-batch', events, keyed(key))
      expect(await stage.publishBatch('keyed-batch', events, keyed(key))).toEqual(first)
    }
    expect((await stage.events(id)).map(({ payload }) => payload)).toEqual([0, 1, 3, 4, 5])
  })

  it('answers again after the catalog has lost the event, and takes nothing new under it', async () => {
    const id = await stage.source('keyed-catalog', [{ event: 'old' }])
    const first = await stage.publish('keyed-catalog', 1, { event: 'old', ctx: keyed('one') })
    await stage.setCatalog(id, ['new'])
    expect(await stage.publish('keyed-catalog', 1, { event: 'old', ctx: keyed('one') })).toEqual(first)
    expect(await refusal(stage.publish('keyed-catalog', 1, { event: 'old', ctx: keyed('two') }))).toMatchObject({
      code: 'event_not_declared',
    })
  })

  it('is free again where its request was refused', async () => {
    const id = await stage.source('keyed-full')
    const [receiver] = await stage.watchers(id, 1, { max_pending: 1 })
    await stage.publish('keyed-full', 1)
    expect(await refusal(stage.publish('keyed-full', 2, { ctx: keyed('one') }))).toMatchObject({ code: 'queue_full' })
    await acknowledge(String(receiver), [1])
    expect(await stage.publish('keyed-full', 2, { ctx: keyed('one') })).toMatchObject({ seq: 2 })
  })
})

describe('a receiver that is full', () => {
  it('refuses what would come to it, by name, until enough is acknowledged; each refusal is counted', async () => {
    const id = await stage.source('pressed', [{ event: 'other' }])
    const receiver = await stage.source('slow-consumer')
    await objects.database.query("INSERT INTO objects.receivers (id, kind, max_pending) VALUES ($1, 'queue', 10)", [
      receiver,
    ])
    await objects.database.query('INSERT INTO objects.acks (receiver_id) VALUES ($1)', [receiver])
    await stage.watch(id, receiver)
    await objects.database.query("UPDATE objects.watches SET events = '{build.failed}' WHERE source_id = $1", [id])
    await stage.publishBatch(
      'pressed',
      range(1, 10).map((payload) => ({ payload })),
    )
    for (const _ of range(1, 30))
      expect(await refusal(stage.publish('pressed'))).toMatchObject({
        code: 'queue_full',
        fields: { receivers: ['slow-consumer'] },
      })
    expect(await refusal(stage.publishBatch('pressed', [{ event: 'other' }, {}]))).toMatchObject({ code: 'queue_full' })
    // what it does not watch for is none of its business
    expect(await stage.publish('pressed', null, { event: 'other' })).toMatchObject({ seq: 11 })

    await acknowledge(receiver, [1])
    expect(await refusal(stage.publish('pressed'))).toMatchObject({ code: 'queue_full' })
    await acknowledge(receiver, [2])
    expect(await stage.publish('pressed')).toMatchObject({ seq: 12 })
    expect(await stage.deliveries(receiver)).toHaveLength(11)

    objects.clock.advance(2000)
    const counted = () =>
      objects.database.query<{ count: number }>('SELECT count FROM objects.refusals WHERE source_id = $1', [id])
    await waitFor(async () => (await counted())[0]?.count === 32, { what: 'all refusals to be counted' })
  })

  // Counted before it and put among the full ones after it, a receiver with nothing left to acknowledge was full for ever.
  it('is looked at again behind an acknowledgement that is under way', async () => {
    const id = await stage.source('contended')
    const [receiver] = (await stage.watchers(id, 1, { max_pending: 5 })) as [string]
    await stage.publishBatch(
      'contended',
      range(1, 4).map((payload) => ({ payload })),
    )
    const ack = await openAdmin(objects.database.url)
    await ack.run(`BEGIN; UPDATE objects.acks SET acked = '{[1,5)}', acked_count = 4 WHERE receiver_id = '${receiver}'`)
    const last = stage.publish('contended')
    const waiting = () => objects.database.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    await waitFor(async () => (await waiting()).length > 0, { what: 'the publication to wait' })
    await ack.run('COMMIT')
    await ack.close()
    expect(await last).toMatchObject({ seq: 5 })
    expect(
      await objects.database.query('SELECT 1 FROM objects.full_receivers WHERE receiver_id = $1', [receiver]),
    ).toEqual([])
  })
})

const acknowledge = async (receiver: string, seqs: readonly number[]): Promise<void> => {
  const { app } = objects.service
  const [writer, acks] = [app.get(Writer, { strict: false }), app.get(Acks, { strict: false })]
  await writer.transact(systemContext('test'), ({ tx }) => acks.acknowledge(tx, receiver, seqs))
}
