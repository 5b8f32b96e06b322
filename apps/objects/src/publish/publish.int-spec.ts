import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ErrorCode } from '#common/contract/errors.js'
import { objectLimits } from '#common/contract/object.schema.js'
import type { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { openAdmin } from '#common/testing/admin-connection.js'
import { waitFor } from '#common/testing/wait-for.js'
import { appCall, nodeCall, ObjectsUnderTest, ownerCall } from '../../../../test/support/objects-service.js'
import { eventIdOf } from '../ids.js'
import { range, Stage } from './publish.fixture.js'
import { Refusals } from './refusals.js'

let objects: ObjectsUnderTest
let stage: Stage

beforeAll(async () => {
  objects = await ObjectsUnderTest.start()
  stage = new Stage(objects)
})
afterAll(() => objects.stop())

const refusal = async (work: Promise<unknown>): Promise<SvcError> =>
  work.then(
    (value) => {
      throw new Error(`was accepted: ${JSON.stringify(value)}`)
    },
    (error: SvcError) => error,
  )
const codeOf = async (work: Promise<unknown>): Promise<ErrorCode> => (await refusal(work)).code

const pub = (id: string) =>
  ownerCall({ actor: { kind: 'pub', principal: `object:${id}`, tokenId: 'tok_3', scopes: [] } })

describe('an event', () => {
  it('is written with who published it, and is answered with its place', async () => {
    const id = await stage.source('first')
    const accepted = await stage.publish('first', { n: 1, deep: ['"', '\\', 'ü', null] })
    expect(accepted).toEqual({
      event_id: eventIdOf(id, 1),
      seq: 1,
      accepted_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/),
      duplicate: false,
    })
    expect(await stage.publish(id, undefined)).toMatchObject({ seq: 2 })
    expect(await stage.events(id)).toEqual([
      {
        seq: 1,
        event: 'build.failed',
        payload: { n: 1, deep: ['"', '\\', 'ü', null] },
        published_by: { kind: 'owner', id: null },
      },
      { seq: 2, event: 'build.failed', payload: null, published_by: { kind: 'owner', id: null } },
    ])
  })

  it('goes to those who watch for it, nodes at the tier that they named', async () => {
    const id = await stage.source('spread', [{ event: 'other' }])
    const [all] = await stage.watchers(id, 1)
    const [some] = await stage.watchers(id, 1, { events: ['other'] })
    const [node] = await stage.watchers(id, 1, { kind: 'node', tier: 'urgent' })
    await stage.publishBatch('spread', [{}, { event: 'other' }, {}])
    const given = async (receiver: string | undefined) =>
      (await stage.deliveries(String(receiver))).map(({ seq, source_seq, tier }) => [seq, source_seq, tier])
    expect(await given(all)).toEqual([
      [1, 1, null],
      [2, 2, null],
      [3, 3, null],
    ])
    expect(await given(some)).toEqual([[1, 2, null]])
    expect(await given(node)).toEqual([
      [1, 1, 'urgent'],
      [2, 2, 'urgent'],
      [3, 3, 'urgent'],
    ])
  })

  it('makes those due to whom the daemon sends, unless they are paused', async () => {
    const id = await stage.source('due')
    const [queue] = await stage.watchers(id, 1)
    const [url, paused] = await stage.watchers(id, 2, { kind: 'url' })
    await objects.database.query(
      "UPDATE objects.receivers SET status = 'paused', reason = 'asked', paused_at = now() WHERE id = $1",
      [paused],
    )
    await stage.publish('due')
    const rows = await objects.database.query<{ id: string; due: boolean }>(
      'SELECT id, due_at IS NOT NULL AS due FROM objects.receivers WHERE id = ANY ($1)',
      [[queue, url, paused]],
    )
    expect(rows.filter(({ due }) => due).map(({ id: due }) => due)).toEqual([url])
  })
})

describe('who publishes', () => {
  it('is the owner, whom the object belongs to, and who has its token; to all others it is not there', async () => {
    const app = newId('app')
    const [own, apps] = [await stage.source('own'), await stage.source('apps', [], app)]
    const node = newId('node')
    const allowed = [
      stage.publish('own', null, { ctx: nodeCall(node) }),
      stage.publish('own', null, { ctx: pub(own) }),
      stage.publish('apps', null, { ctx: appCall(app) }),
      stage.publish('apps', null, { ctx: nodeCall(node, { appId: app }) }),
    ]
    expect((await Promise.all(allowed)).map(({ duplicate }) => duplicate)).toEqual([false, false, false, false])
    const refused = [
      stage.publish('own', null, { ctx: appCall(app) }),
      stage.publish('own', null, { ctx: pub(apps) }),
      stage.publish('apps', null, { ctx: nodeCall(node) }),
      stage.publish('apps', null, { ctx: appCall(newId('app')) }),
      stage.publish('none', null, { ctx: ownerCall() }),
    ]
    expect(await Promise.all(refused.map(codeOf))).toEqual(refused.map(() => 'not_found'))
    expect(await stage.events(own)).toHaveLength(2)
  })
})

describe('what is refused', () => {
  it('is what the object does not declare, with what it does', async () => {
    const id = await stage.source('declares', [{ event: 'b' }])
    const error = await refusal(stage.publishBatch('declares', [{}, { event: 'c' }]))
    expect(error).toMatchObject({
      code: 'event_not_declared',
      fields: { declared: ['build.failed', 'b'], errors: [{ pointer: '/events/1/event' }] },
    })
    expect(await stage.events(id)).toEqual([])
  })

  it('is a payload that does not fit, with each difference and its place', async () => {
    const payload_schema = { properties: { n: { type: 'integer' }, s: { type: 'string' } }, required: ['n'] }
    const id = await stage.source('fits', [{ event: 'typed', payload_schema }])
    const one = await refusal(stage.publish('fits', { n: 'x', s: 1 }, { event: 'typed' }))
    expect(one.code).toBe('payload_schema_mismatch')
    expect(one.fields.errors?.map(({ pointer }) => pointer)).toEqual(['/payload/n', '/payload/s'])
    const many = await refusal(
      stage.publishBatch('fits', [{}, { event: 'typed', payload: { n: 1 } }, { event: 'typed', payload: {} }]),
    )
    expect(many.fields.errors?.map(({ pointer }) => pointer)).toEqual(['/events/2/payload'])
    expect(await stage.events(id)).toEqual([])
  })

  it('is a payload against a pattern that backtracks for ever, and others go on meanwhile', async () => {
    const payload_schema = { type: 'string', pattern: '^(a+)+$' }
    await stage.source('slow', [{ event: 'typed', payload_schema }])
    expect(await stage.publish('slow', 'aaa', { event: 'typed' })).toMatchObject({ seq: 1 })
    expect(await codeOf(stage.publish('slow', 'b', { event: 'typed' }))).toBe('payload_schema_mismatch')
    const hung = refusal(stage.publish('slow', `${'a'.repeat(60)}!`, { event: 'typed' }))
    await stage.source('quick')
    expect(await stage.publish('quick')).toMatchObject({ seq: 1 })
    objects.clock.advance(60_000)
    expect((await hung).fields.errors?.[0]?.message).toMatch(/takes too long/)
  })

  it('is too long a payload, or too deep a one', async () => {
    await stage.source('large')
    const longest = 'x'.repeat(objectLimits.payloadBytes - 2)
    expect(await stage.publish('large', longest)).toMatchObject({ seq: 1 })
    expect(await refusal(stage.publish('large', `${longest}x`))).toMatchObject({
      code: 'payload_too_large',
      fields: { limit: objectLimits.payloadBytes },
    })
    const deep = JSON.parse('['.repeat(600) + ']'.repeat(600)) as unknown
    expect(await refusal(stage.publish('large', deep))).toMatchObject({
      code: 'validation_failed',
      fields: { errors: [{ pointer: '/payload' }] },
    })
  })

  it('does not keep neighbours of the same transaction from being accepted', async () => {
    const id = await stage.source('neighbours')
    const full = await stage.source('crowded')
    const [crowd] = await stage.watchers(full, 1, { max_pending: 1 })
    await stage.publish('crowded')
    const work = range(1, 40).flatMap((n) => [
      stage.publish('neighbours', n),
      codeOf(stage.publish('crowded', n)),
      codeOf(stage.publish('neighbours', n, { ctx: ownerCall({ idempotencyKey: 'same' }) })).catch(() => 'accepted'),
    ])
    const outcomes = await Promise.all(work)
    expect(outcomes.filter((each) => each === 'queue_full')).toHaveLength(40)
    expect(outcomes.filter((each) => each === 'idempotency_key_reused')).toHaveLength(39)
    expect((await stage.events(id)).map(({ seq }) => seq)).toEqual(range(1, 41))
    expect(await stage.deliveries(String(crowd))).toHaveLength(1)
  })

  it('is counted once for a full receiver, however often it is tried under its key', async () => {
    const id = await stage.source('tried')
    await stage.watchers(id, 1, { max_pending: 1 })
    await stage.publish('tried')
    const trying = async (key?: string) =>
      expect(
        await codeOf(stage.publish('tried', null, { ctx: ownerCall({ ...(key && { idempotencyKey: key }) }) })),
      ).toBe('queue_full')
    for (const key of ['one', 'one', 'one', 'other', 'one', undefined, undefined]) await trying(key)
    const refusals = objects.service.app.get(Refusals, { strict: false })
    await refusals.stop()
    const counted = async () => {
      const text = 'SELECT count, last_at FROM objects.refusals WHERE source_id = $1'
      const [row] = await objects.database.query<{ count: number; last_at: Date }>(text, [id])
      return row
    }
    expect(await counted()).toMatchObject({ count: 4 })
    // one that is still tried is known of since its last try
    objects.clock.advance(3_600_000)
    const later = objects.clock.now()
    await trying('one')
    await refusals.stop()
    const again = await counted()
    expect([again?.count, Number(again?.last_at) >= later]).toEqual([4, true])
    await objects.database.query('DELETE FROM objects.refusals')
    await trying('one')
    await refusals.stop()
    expect(await counted()).toMatchObject({ count: 1 })
  })
})

describe('a catalog that changes', () => {
  it('is the one that counts, from the moment on at which it is there', async () => {
    const id = await stage.source('changing', [{ event: 'old' }])
    await stage.publish('changing', null, { event: 'old' })
    await stage.setCatalog(id, ['new'])
    expect(await codeOf(stage.publish('changing', null, { event: 'old' }))).toBe('event_not_declared')
    expect(await stage.publish('changing', null, { event: 'new' })).toMatchObject({ seq: 2 })
  })

  it('lets nothing in that was checked before and would be accepted after', async () => {
    const id = await stage.source('racing', [{ event: 'old' }])
    await stage.publish('racing', null, { event: 'old' })
    const { lock, release } = await holdSource(id)
    const late = codeOf(stage.publish('racing', null, { event: 'old' }))
    await waitFor(() => lock.isWaitedFor())
    await release(`UPDATE objects.objects SET catalog = '[]', catalog_version = 2, version = 2 WHERE id = '${id}'`)
    expect(await late).toBe('event_not_declared')
    expect(await stage.events(id)).toHaveLength(1)
  })

  it('is looked at by the one that has the name now', async () => {
    const id = await stage.source('named')
    await stage.publish('named')
    await objects.database.query('DELETE FROM objects.sources WHERE id = $1', [id])
    await objects.database.query('UPDATE objects.objects SET deleted_at = now() WHERE id = $1', [id])
    expect(await codeOf(stage.publish('named'))).toBe('not_found')
    const next = await stage.source('named')
    expect(await stage.publish('named')).toMatchObject({ event_id: eventIdOf(next, 1) })
  })

  it('is gone with its object, though a publication has been checked already', async () => {
    const id = await stage.source('leaving')
    const [watcher] = await stage.watchers(id, 1)
    await stage.publish('leaving')
    const { lock, release } = await holdSource(id)
    const late = codeOf(stage.publish('leaving'))
    await waitFor(() => lock.isWaitedFor())
    await release(`DELETE FROM objects.sources WHERE id = '${id}';
      DELETE FROM objects.watches WHERE source_id = '${id}';
      UPDATE objects.objects SET deleted_at = now() WHERE id = '${id}'`)
    expect(await late).toBe('not_found')
    expect(await stage.deliveries(String(watcher))).toHaveLength(1)
  })
})

/** Holds the row of a source as an update of its object does. */
const holdSource = async (id: string) => {
  const connection = await openAdmin(objects.database.url)
  await connection.run(`BEGIN; SELECT 1 FROM objects.sources WHERE id = '${id}' FOR UPDATE`)
  const isWaitedFor = async (): Promise<boolean> => {
    const waiting = await objects.database.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    return waiting.length > 0
  }
  const release = async (sql: string): Promise<void> => {
    await connection.run(`${sql}; COMMIT`)
    await connection.close()
  }
  return { lock: { isWaitedFor }, release }
}
