import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { newId } from '#common/kernel/ids.js'
import { testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import type { Answer, TestGateway } from '../testing/gateway.fixture.js'
import { TwoGateways } from '../testing/two-gateways.fixture.js'
import { WireObjects } from '../testing/wire-objects.fixture.js'

let [two, wire] = [] as unknown as [TwoGateways, WireObjects]
beforeAll(async () => {
  two = await TwoGateways.start(testNats().url, await testDatabase())
  wire = await WireObjects.start(testNats().url)
})
afterAll(async () => {
  await wire?.stop()
  await two?.stop()
})

const path = '/v1/custom-objects'
let names = 0
const freshName = (): string => `object-${++names}`
const keyed = (key: string) => ({ 'idempotency-key': key })
const register = (body: object, headers?: Record<string, string>) => two.ask('POST', path, body, headers)
const rotate = (ref: string, body: object = {}, headers?: Record<string, string>) =>
  two.ask('POST', `${path}/${ref}/rotate`, body, headers)
const unregister = (ref: string) => two.ask('DELETE', `${path}/${ref}`)
const publish = (token: string, ref: string, gateway: TestGateway = two.here): Promise<Answer> =>
  gateway.ask({ method: 'POST', path: `${path}/${ref}/publish`, token, body: { event: 'built', payload: 1 } })
const worksAt = async (token: string, gateway: TestGateway): Promise<boolean> =>
  (await publish(token, 'any', gateway)).status === 202
const endsEverywhere = (token: string) =>
  waitFor(async () => !((await worksAt(token, two.here)) || (await worksAt(token, two.there))), {
    what: 'a token to be refused by both',
  })
const tokensOf = (objectId: string) =>
  two.database.query<{ live: boolean }>(
    `SELECT revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS live FROM gateway.tokens WHERE object_ref = $1`,
    [objectId],
  )
const replayed = ({ headers }: Answer): boolean => headers['idempotency-replayed'] !== undefined
const live = async (objectId: string): Promise<number> => (await tokensOf(objectId)).filter((row) => row.live).length

describe('registering an object', () => {
  it('answers a token that publishes in the name of that object, and does nothing else', async () => {
    const { status, body } = await register({ name: freshName() })
    expect([status, body.publish_token]).toEqual([201, expect.stringMatching(/^svc_pub_/)])
    expect(body).not.toHaveProperty('existed')
    expect((await publish(body.publish_token, body.name, two.there)).status).toBe(202)
    expect(wire.published.at(-1)?.actor).toMatchObject({ kind: 'pub', principal: `object:${body.id}`, scopes: [] })
    for (const asked of [`${path}/${body.id}`, path, '/v1/nodes', '/v1/canvas/watches']) {
      const { body: refused } = await two.here.ask({ path: asked, token: body.publish_token })
      expect([asked, refused.code]).toEqual([asked, 'publish_token_only'])
    }
    const { body: shown } = await two.ask('GET', '/v1/tokens?limit=1')
    expect(shown.data).toMatchObject([{ kind: 'pub', object_id: body.id, label: body.name, expires_at: null }])
  })

  it('answers a repetition without a token', async () => {
    const [name, key] = [freshName(), newId('evt')]
    const first = await register({ name }, keyed(key))
    const again = await register({ name }, keyed(key))
    expect(again.body).toEqual({ ...first.body, publish_token: null })
    expect([first, again].map(replayed)).toEqual([false, true])
    expect(await live(first.body.id)).toBe(1)
  })

  it('gives the repetition both secrets when the first try was lost before its token was minted', async () => {
    const [body, key] = [{ name: freshName(), receiver: { type: 'url', url: 'https://example.com/in' } }, newId('evt')]
    wire.loseAnswer()
    expect((await register(body, keyed(key))).status).toBe(503)
    const first = await register(body, keyed(key))
    expect((await publish(first.body.publish_token, body.name)).status).toBe(202)
    expect([first.body.signing_secret, replayed(first)]).toEqual(['whsec_first', false])
    const again = await register(body, keyed(key))
    expect(again.body).toEqual({ ...first.body, publish_token: null, signing_secret: null })
    expect(replayed(again)).toBe(true)
  })

  it('gives all secrets to one of two that come at once under one key', async () => {
    for (let round = 0; round < 20; round += 1) {
      const body = { name: freshName(), receiver: { type: 'url', url: 'https://example.com/in' } }
      const key = newId('evt')
      const twins = await Promise.all([register(body, keyed(key)), register(body, keyed(key))])
      const [first, ...others] = twins.filter(
        ({ status, headers }) => status === 201 && !headers['idempotency-replayed'],
      )
      expect(others).toEqual([])
      expect(first?.body).toMatchObject({ publish_token: expect.any(String), signing_secret: 'whsec_first' })
      const twin = twins.find((answer) => answer !== first) as Answer
      if (twin.status === 201) expect(twin.body).toMatchObject({ publish_token: null, signing_secret: null })
      else expect(twin.body.code).toBe('idempotency_in_progress')
    }
  })

  it('leaves nothing behind when its key stands for another request', async () => {
    const [first, other, key] = [freshName(), freshName(), newId('evt')]
    await register({ name: first })
    expect((await rotate(first, {}, keyed(key))).status).toBe(200)
    expect((await register({ name: other }, keyed(key))).body.code).toBe('idempotency_key_reused')
    expect((await register({ name: other })).status).toBe(201)
  })

  it('again with `rotate` puts a new token in the place of the former one, everywhere', async () => {
    const name = freshName()
    const first = (await register({ name })).body
    expect(await worksAt(first.publish_token, two.there)).toBe(true)
    expect((await register({ name })).body.code).toBe('already_exists')
    const second = (await register({ name, rotate: true })).body
    expect(second.id).toBe(first.id)
    await endsEverywhere(first.publish_token)
    expect(await worksAt(second.publish_token, two.there)).toBe(true)
  })

  it('belongs to an app that there is', async () => {
    const app = await two.app()
    expect((await register({ name: freshName(), app: app.name })).body.app_id).toBe(app.id)
    expect((await register({ name: freshName(), app: 'there-is-none' })).body.code).toBe('not_found')
  })

  it('is the owner’s', async () => {
    const { token } = await two.mint((await two.app()).id)
    const { body } = await two.here.ask({ method: 'POST', path, token, body: { name: freshName() } })
    expect(body.code).toBe('owner_required')
  })
})

describe('rotating the token of an object', () => {
  it('lets the former one go on for as long as was said', async () => {
    const { body: object } = await register({ name: freshName() })
    const { body } = await rotate(object.name, { overlap: 600 })
    expect(body).toEqual({ publish_token: expect.stringMatching(/^svc_pub_/), signing_secret: null })
    expect([await worksAt(object.publish_token, two.there), await worksAt(body.publish_token, two.there)]).toEqual([
      true,
      true,
    ])
    const last = (await rotate(object.name)).body.publish_token
    await endsEverywhere(object.publish_token)
    await endsEverywhere(body.publish_token)
    expect(await worksAt(last, two.here)).toBe(true)
  })

  it('is done once for its key', async () => {
    const { body: object } = await register({ name: freshName() })
    const key = newId('evt')
    const first = await rotate(object.id, {}, keyed(key))
    expect((await rotate(object.id, {}, keyed(key))).body).toEqual({ publish_token: null, signing_secret: null })
    expect(await worksAt(first.body.publish_token, two.here)).toBe(true)
  })

  it('replaces one that was revoked, and one that was replaced by itself', async () => {
    const { body: object } = await register({ name: freshName() })
    const { body: listed } = await two.ask('GET', '/v1/tokens?limit=1')
    await two.ask('POST', `/v1/tokens/${listed.data[0].id}/rotate`, { overlap: 600 })
    expect(await worksAt((await rotate(object.id)).body.publish_token, two.here)).toBe(true)
    const { body: current } = await two.ask('GET', '/v1/tokens?limit=1')
    await two.ask('DELETE', `/v1/tokens/${current.data[0].id}`)
    expect(await live(object.id)).toBe(0)
    expect(await worksAt((await rotate(object.id)).body.publish_token, two.here)).toBe(true)
    expect(await live(object.id)).toBe(1)
  })

  it('leaves one that works, however many rotate at once', async () => {
    const { body: object } = await register({ name: freshName() })
    const answers = await Promise.all(Array.from({ length: 8 }, () => rotate(object.id)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(await live(object.id)).toBe(1)
    expect(await tokensOf(object.id)).toHaveLength(9)
  })

  it('or its secret, which leaves the token', async () => {
    const { body: object } = await register({ name: freshName() })
    const { body } = await rotate(object.id, { what: 'signing_secret' })
    expect(body).toEqual({ publish_token: null, signing_secret: 'whsec_new' })
    expect(await worksAt(object.publish_token, two.here)).toBe(true)
    expect((await rotate('there-is-none')).body.code).toBe('not_found')
  })
})

describe('unregistering an object', () => {
  it('ends all its tokens, everywhere', async () => {
    const { body: object } = await register({ name: freshName() })
    const { body: next } = await rotate(object.id, { overlap: 600 })
    expect((await unregister(object.name)).body).toEqual({ deleted: true })
    await endsEverywhere(object.publish_token)
    await endsEverywhere(next.publish_token)
    expect((await unregister(object.name)).body).toEqual({ deleted: false })
  })

  it('ends them by its repetition when the first try was lost in between', async () => {
    const { body: object } = await register({ name: freshName() })
    wire.loseAnswer()
    expect((await unregister(object.id)).status).toBe(503)
    expect(await live(object.id)).toBe(1)
    expect((await unregister(object.id)).body).toEqual({ deleted: false })
    await endsEverywhere(object.publish_token)
    expect((await unregister('there-is-none')).body.code).toBe('not_found')
  })
})
