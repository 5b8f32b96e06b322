import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { objectLimits } from '#common/contract/object.schema.js'
import type { Context } from '#common/kernel/context.js'
import type { SvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { openAdmin } from '#common/testing/admin-connection.js'
import { waitFor } from '#common/testing/wait-for.js'
import { appCall, nodeCall, ObjectsUnderTest, ownerCall } from '../../../../test/support/objects-service.js'
import { FanOut } from '../publish/fan-out.js'
import { UnregisterService } from './unregister.service.js'

let objects: ObjectsUnderTest
beforeAll(async () => {
  objects = await ObjectsUnderTest.start()
})
afterAll(() => objects?.stop())

let names = 0
const freshName = (): string => `object-${++names}`
const keyed = (idempotencyKey: string): Context => ownerCall({ idempotencyKey })
const register = (more: object = {}, ctx?: Context) =>
  objects.call('objects.object.register', { name: freshName(), app_id: null, ...more }, ctx)
const retrieve = (ref: string, ctx?: Context) => objects.call('customObjects.retrieve', { ref }, ctx)
const update = (ref: string, changes: object) => objects.call('customObjects.update', { ref, force: false, ...changes })
const unregister = (ref: string) => objects.call('objects.object.unregister', { ref })
const publish = (ref: string, event: string) => objects.call('customObjects.publish', { ref, event, payload: {} })
const refusal = (work: Promise<unknown>): Promise<SvcError> =>
  work.then(
    () => {
      throw new Error('it was taken')
    },
    (error: SvcError) => error,
  )
const codeOfError = ({ code }: SvcError): string => code
const codeOf = async (work: Promise<unknown>): Promise<string> => (await refusal(work)).code
const pointersOf = async (work: Promise<unknown>): Promise<unknown> => {
  const { code, fields } = await refusal(work)
  return [code, fields.errors?.map(({ pointer }) => pointer)]
}

const event = (name: string, payload_schema: object = {}) => ({ event: name, description: '', payload_schema })
const queue = { type: 'queue' as const, max_pending: 100_000 }
const url = { type: 'url' as const, url: 'https://example.com/in', allow_private: false, max_pending: 100_000 }

describe('registering', () => {
  it('answers the object, which is then found by name and by id', async () => {
    const { signing_secret, existed, ...object } = await register({ catalog: [event('built')], receiver: queue })
    expect(object).toMatchObject({
      id: expect.stringMatching(/^obj_/),
      catalog: [event('built')],
      catalog_version: 1,
      receiver: queue,
      receiver_state: { status: 'active', reason: null, paused_at: null, pending: 0, failed: 0, dead: 0 },
      watchers: 0,
      published: 0,
      app_id: null,
      created_by: { kind: 'owner', id: null },
      version: 1,
    })
    expect([signing_secret, existed]).toEqual([null, false])
    expect([await retrieve(object.id), await retrieve(object.name)]).toEqual([object, object])
  })

  it('once for its key; the secret is in its answers and nowhere else', async () => {
    const key = newId('evt')
    const name = freshName()
    const first = await register({ name, receiver: url }, keyed(key))
    expect(first.signing_secret).toMatch(/^whsec_/)
    expect(await register({ name, receiver: url }, keyed(key))).toEqual(first)
    expect(await codeOf(register({ name, receiver: queue }, keyed(key)))).toBe('idempotency_key_reused')
    const kept = await objects.database.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM objects.idempotency WHERE response::text LIKE '%${first.signing_secret}%'`,
    )
    expect(kept[0]?.n).toBe(0)
  })

  it('refuses a name that is taken, also to one of two that come at once', async () => {
    const name = freshName()
    const both = await Promise.allSettled([register({ name }), register({ name })])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await codeOf(register({ name }))).toBe('already_exists')
    await unregister(name)
    expect((await register({ name })).existed).toBe(false)
  })

  it('refuses names that look like identifiers', async () => {
    expect(await pointersOf(register({ name: newId('node') }))).toEqual(['validation_failed', ['/name']])
  })

  it('points at each event that is there twice, or has a schema that is none', async () => {
    const catalog = [
      event('a'),
      event('b', { type: 'nothing' }),
      event('a'),
      event('c', { $ref: 'https://elsewhere.test/schema' }),
      event('d', { description: 'x'.repeat(objectLimits.schemaBytes) }),
    ]
    expect(await pointersOf(register({ catalog }))).toEqual([
      'validation_failed',
      ['/catalog/2/event', '/catalog/1/payload_schema', '/catalog/3/payload_schema', '/catalog/4/payload_schema'],
    ])
  })

  it('refuses an address of this machine or its network, unless that is allowed', async () => {
    const local = { ...url, url: 'http://127.0.0.1:1/' }
    expect(await codeOf(register({ receiver: local }))).toBe('receiver_refused')
    expect((await register({ receiver: { ...local, allow_private: true } })).receiver).toMatchObject({
      allow_private: true,
    })
  })

  it('watches from the start, or is not registered at all', async () => {
    const source = await register({ catalog: [event('built')] })
    const watches = [{ source: source.name, events: ['built'] }]
    const watcher = await register({ receiver: queue, watches })
    expect(await retrieve(source.id)).toMatchObject({ watchers: 1 })
    expect((await objects.call('canvas.watches.list', { limit: 5, watcher: watcher.id })).data).toMatchObject([
      { source: source.id, events: ['built'] },
    ])
    const name = freshName()
    expect(await codeOf(register({ name, watches }))).toBe('receiver_unfit')
    expect(await codeOf(register({ name, receiver: queue, watches: [{ source: 'none', events: null }] }))).toBe(
      'not_found',
    )
    expect(await codeOf(retrieve(name))).toBe('not_found')
  })

  it('with `rotate` meets an object that is deleted at that moment', async () => {
    const name = freshName()
    const both = Array.from({ length: 20 }, () => [
      register({ name, rotate: true }),
      unregister(name).catch(codeOfError),
    ])
    const answers = await Promise.all(both.flat())
    expect(answers.filter((answer) => typeof answer === 'string' && answer !== 'not_found')).toEqual([])
    expect((await register({ name, rotate: true })).name).toBe(name)
  })

  it('with `rotate` brings the one that has the name to the body', async () => {
    const before = await register({ catalog: [event('a')] })
    const { name } = before
    const after = await register({
      name,
      rotate: true,
      description: 'x',
      catalog: [event('a'), event('b')],
      receiver: queue,
    })
    expect(after).toMatchObject({
      id: before.id,
      existed: true,
      catalog_version: 2,
      version: 2,
      receiver_state: { pending: 0 },
    })
    expect(await codeOf(register({ name, rotate: true, catalog: [event('b')] }))).toBe('catalog_incompatible')
    expect(await codeOf(register({ name, rotate: true, app_id: 'app_a', catalog: after.catalog }))).toBe(
      'already_exists',
    )
    expect((await register({ rotate: true })).existed).toBe(false)
  })
})

describe('who sees an object', () => {
  it('the owner each; an app and its nodes their own; the owner’s nodes those of no app', async () => {
    const [free, own, foreign] = [
      await register(),
      await register({ app_id: 'app_a' }),
      await register({ app_id: 'app_b' }),
    ]
    const seen = async (ctx: Context): Promise<boolean[]> => {
      const { data } = await objects.call('customObjects.list', { limit: 200 }, ctx)
      const each = [free, own, foreign].map(async ({ id }) => {
        const listed = data.some((object) => object.id === id)
        const code = await retrieve(id, ctx).then(
          () => undefined,
          (error: SvcError) => error.code,
        )
        expect(code).toBe(listed ? undefined : 'not_found')
        return listed
      })
      return Promise.all(each)
    }
    const node = newId('node')
    expect(await seen(ownerCall())).toEqual([true, true, true])
    expect(await seen(appCall('app_a'))).toEqual([false, true, false])
    expect(await seen(nodeCall(node, { appId: 'app_a' }))).toEqual([false, true, false])
    expect(await seen(nodeCall(node))).toEqual([true, false, false])
    expect(await seen(nodeCall(node, { scopes: ['svc:objects:read:app:app_b'] }))).toEqual([true, false, true])
    expect(await seen(appCall('app_a', { scopes: ['svc:objects:read:app:app_b'] }))).toEqual([false, true, true])
  })

  it('page by page, the newest first', async () => {
    const all = [
      await register({ app_id: 'app_p' }),
      await register({ app_id: 'app_p' }),
      await register({ app_id: 'app_p' }),
    ]
    const first = await objects.call('customObjects.list', { limit: 2, app_id: 'app_p' })
    const second = await objects.call('customObjects.list', { limit: 2, app_id: 'app_p', after: first.next_cursor })
    const ids = [...first.data, ...second.data].map(({ id }) => id)
    expect([ids.length, ids.toSorted()]).toEqual([3, all.map(({ id }) => id).sort()])
  })
})

describe('updating', () => {
  it('names each difference of a catalog that would break somebody, and makes it all the same when forced', async () => {
    const { id } = await register({ catalog: [event('a', { type: 'string' }), event('b')] })
    const catalog = [event('a', { type: 'number' })]
    const { code, fields } = await refusal(update(id, { catalog }))
    expect([code, fields.differences]).toEqual([
      'catalog_incompatible',
      [
        expect.objectContaining({ event: 'a', pointer: '/type', breaks: ['publishers'] }),
        expect.objectContaining({ event: 'a', pointer: '/type', breaks: ['receivers'] }),
        expect.objectContaining({ event: 'b', pointer: '' }),
      ],
    ])
    expect(await retrieve(id)).toMatchObject({ catalog_version: 1, version: 1 })
    expect(await update(id, { catalog, force: true })).toMatchObject({ catalog, catalog_version: 2, version: 2 })
    expect(await codeOf(publish(id, 'b'))).toBe('event_not_declared')
  })

  it('changes nothing that says the same', async () => {
    const { id } = await register({ description: 'x', catalog: [event('a')], receiver: queue })
    expect(await update(id, { description: 'x', catalog: [event('a')], receiver: queue })).toMatchObject({ version: 1 })
  })

  it('is refused on another version than the one that was named', async () => {
    const { id } = await register()
    await update(id, { description: 'x', if_match: 1 })
    const { code, fields } = await refusal(update(id, { description: 'y', if_match: 1 }))
    expect([code, fields.version]).toEqual(['precondition_failed', 2])
  })

  it('lets a receiver of another kind take over what is not acknowledged', async () => {
    const [source, watcher] = [await register({ catalog: [event('built')] }), await register({ receiver: queue })]
    await objects.call('canvas.watches.put', { watcher: watcher.id, source: source.id, events: null, tier: 'normal' })
    await publish(source.id, 'built')
    const receiver = { ...url, url: 'https://192.0.2.1/', max_pending: 5 }
    expect(await codeOf(update(watcher.id, { receiver }))).toBe('receiver_refused')
    const changed = await update(watcher.id, { receiver: { ...receiver, allow_private: true } })
    expect(changed).toMatchObject({ receiver_state: { pending: 1 }, signing_secret: expect.stringMatching(/^whsec_/) })
    expect(await update(watcher.id, { receiver: queue })).toMatchObject({
      receiver_state: { status: 'active', pending: 1, failed: 0 },
      signing_secret: null,
    })
    await objects.call('canvas.watches.delete', { watcher: watcher.id, source: source.id })
    expect(await codeOf(update(watcher.id, { receiver: null }))).toBe('receiver_unfit')
  })

  // A new address once let a consumer that was meant to hold 5 hold 100,000.
  it('leaves how many may wait as it is, unless it is named', async () => {
    const { id } = await register({ receiver: { ...url, max_pending: 5 } })
    const pendingOf = async (receiver: object | null) => (await update(id, { receiver })).receiver?.max_pending
    const { max_pending: _, ...elsewhere } = { ...url, url: 'https://example.com/new' }
    expect(await pendingOf(elsewhere)).toBe(5)
    expect(await pendingOf({ type: 'queue' })).toBe(5)
    expect(await pendingOf({ type: 'queue', max_pending: 6 })).toBe(6)
    expect(await pendingOf(elsewhere)).toBe(6)
    expect(await pendingOf(null)).toBeUndefined()
    expect(await pendingOf({ type: 'queue' })).toBe(objectLimits.pending)
    expect((await register({ receiver: { type: 'queue' } })).receiver?.max_pending).toBe(objectLimits.pending)
  })

  it('by a registration with `rotate` brings how many may wait to the default of a body that names none', async () => {
    const { name } = await register({ receiver: { ...queue, max_pending: 5 } })
    const { receiver } = await register({ name, rotate: true, receiver: { type: 'queue' } })
    expect(receiver?.max_pending).toBe(objectLimits.pending)
  })

  // Nobody could resume a receiver that was taken away, nor get rid of the call for a person that its pause had raised.
  it.each([null, queue])('that takes away a paused receiver ends the pause: %p', async (receiver) => {
    const { id } = await register({ receiver: url })
    await objects.call('customObjects.pause', { ref: id })
    await update(id, { receiver })
    const told = await objects.database.query('SELECT payload FROM objects.outbox WHERE key = $1', [
      `lifecycle.concern.set:${id}:2`,
    ])
    expect(told).toEqual([{ payload: { ref: id, version: 2, concern: null } }])
    expect(await update(id, { receiver: url })).toMatchObject({ receiver_state: { status: 'active', reason: null } })
  })
})

describe('pausing a receiver', () => {
  it('is refused when it becomes a queue at the same moment', async () => {
    const { id } = await register({ receiver: url })
    const change = await openAdmin(objects.database.url)
    await change.run(`BEGIN; UPDATE objects.objects SET receiver = '${JSON.stringify(queue)}' WHERE id = '${id}';
      UPDATE objects.receivers SET kind = 'queue', due_at = NULL WHERE id = '${id}'`)
    const pause = codeOf(objects.call('customObjects.pause', { ref: id }))
    const waiting = () => objects.database.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    await waitFor(async () => (await waiting()).length > 0, { what: 'the pause to wait' })
    await change.run('COMMIT')
    await change.close()
    expect(await pause).toBe('receiver_unfit')
    expect((await retrieve(id)).receiver_state).toMatchObject({ status: 'active' })
  })
})

describe('rotating the secret', () => {
  it('answers a new one, once for its key', async () => {
    const object = await register({ receiver: url })
    const rotate = (key: string) =>
      objects.call('objects.object.rotateSecret', { ref: object.name, overlap: 60 }, keyed(key))
    const first = await rotate('rotate-1')
    expect(first.signing_secret).toMatch(/^whsec_/)
    expect(first.signing_secret).not.toBe(object.signing_secret)
    expect(await rotate('rotate-1')).toEqual({ signing_secret: null })
    expect((await rotate('rotate-2')).signing_secret).not.toBe(first.signing_secret)
  })

  it('is nothing where nothing is signed', async () => {
    const { id } = await register({ receiver: queue })
    expect(await codeOf(objects.call('objects.object.rotateSecret', { ref: id, overlap: 0 }))).toBe('receiver_unfit')
  })
})

describe('unregistering', () => {
  it('ends its watches both ways, and says again which one it was', async () => {
    const [source, middle, watcher] = [
      await register({ catalog: [event('a')] }),
      await register({ catalog: [event('b')], receiver: queue }),
      await register({ receiver: queue }),
    ]
    const watch = (by: string, of: string) =>
      objects.call('canvas.watches.put', { watcher: by, source: of, events: null, tier: 'normal' })
    await watch(middle.id, source.id)
    await watch(watcher.id, middle.id)
    await publish(source.id, 'a')
    expect(await unregister(middle.name)).toEqual({ id: middle.id, deleted: true })
    expect(await unregister(middle.name)).toEqual({ id: middle.id, deleted: false })
    expect(await unregister(middle.id)).toEqual({ id: middle.id, deleted: false })
    expect(await codeOf(unregister('there-is-none'))).toBe('not_found')
    expect((await retrieve(source.id)).watchers).toBe(0)
    expect((await objects.call('canvas.watches.list', { limit: 5, watcher: watcher.id })).data).toEqual([])
    expect([await codeOf(retrieve(middle.id)), await codeOf(publish(middle.id, 'b'))]).toEqual([
      'not_found',
      'not_found',
    ])
    const left = await objects.database.query<{ id: string }>(
      `SELECT id FROM objects.receivers WHERE id = '${middle.id}' UNION SELECT id FROM objects.sources WHERE id = '${middle.id}'`,
    )
    expect(left).toEqual([])
  })

  it('keeps who watches it until each has what was published before', async () => {
    const [source, watcher] = [await register({ catalog: [event('a')] }), await register({ receiver: queue })]
    await objects.call('canvas.watches.put', { watcher: watcher.id, source: source.id, events: null, tier: 'normal' })
    const watching = () => objects.database.query(`SELECT 1 FROM objects.watches WHERE source_id = '${source.id}'`)
    await objects.service.app.get(FanOut, { strict: false }).stop()
    await objects.database.query(`INSERT INTO objects.fanouts VALUES ('${source.id}', 9, 'z')`)
    const service = objects.service.app.get(UnregisterService, { strict: false })
    await unregister(source.id)
    await service.finish(ownerCall(), 10)
    expect([await codeOf(retrieve(source.id)), (await watching()).length]).toEqual(['not_found', 1])
    await objects.database.query(`DELETE FROM objects.fanouts WHERE source_id = '${source.id}'`)
    expect(await service.finish(ownerCall(), 10)).toBe(1)
    expect([(await watching()).length, await service.finish(ownerCall(), 10)]).toEqual([0, 0])
  })

  it('and watching at the same time leave no watch and no count behind', async () => {
    const source = await register()
    const watchers = await Promise.all(Array.from({ length: 6 }, () => register({ receiver: queue })))
    await Promise.allSettled(
      watchers.flatMap(({ id }) => [
        objects.call('canvas.watches.put', { watcher: id, source: source.id, events: null, tier: 'normal' }),
        unregister(id),
      ]),
    )
    const [left] = await objects.database.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM objects.watches WHERE source_id = '${source.id}'`,
    )
    expect([left?.n, (await retrieve(source.id)).watchers]).toEqual([0, 0])
  })
})

describe('what a catalog is to others', () => {
  it('is told as types and as an AsyncAPI document', async () => {
    const { name } = await register({
      catalog: [event('built', { type: 'object', properties: { ref: { type: 'string' } } })],
    })
    const { typescript } = await objects.call('customObjects.types', { ref: name })
    expect(typescript).toContain('ref?: string')
    expect(await objects.call('customObjects.asyncapi', { ref: name })).toMatchObject({
      asyncapi: '3.0.0',
      info: { title: name },
    })
    const ctx = appCall('app_x')
    expect([
      await codeOf(objects.call('customObjects.types', { ref: name }, ctx)),
      await codeOf(objects.call('customObjects.asyncapi', { ref: name }, ctx)),
    ]).toEqual(['not_found', 'not_found'])
  })
})
