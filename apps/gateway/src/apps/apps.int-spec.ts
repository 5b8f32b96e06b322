import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { App } from '#common/contract/app.schema.js'
import { SvcError } from '#common/kernel/errors.js'
import { type TestDatabase, testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { type Answer, TestGateway } from '../testing/gateway.fixture.js'
import { WireLifecycle } from '../testing/wire-lifecycle.fixture.js'

let database: TestDatabase
let gateway: TestGateway
/** Another gateway before the same rows. */
let second: TestGateway
let wire: WireLifecycle
let names = 0

beforeAll(async () => {
  const { url } = testNats()
  wire = await WireLifecycle.start(url)
  database = await testDatabase()
  gateway = await TestGateway.start(url, database)
  second = await TestGateway.start(url, database, {
    SVC_OWNER_TOKEN_FILE: join(gateway.settings.SVC_DATA_DIR, 'owner.token'),
    SVC_NODE_TOKEN_KEY_FILE: join(gateway.settings.SVC_DATA_DIR, 'keys', 'node-token.key'),
  })
})

afterAll(async () => {
  await second?.stop()
  await gateway?.stop()
  await wire?.stop()
})

beforeEach(() => {
  for (const name of Object.keys(wire.answers)) delete wire.answers[name]
})

const act = ['svc:act', 'svc:llm']

const ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer> =>
  gateway.ask({ method, path, ...(body !== undefined && { body }), ...(headers && { headers }) })

const register = async (changes: Record<string, unknown> = {}): Promise<App> => {
  names += 1
  const { status, body } = await ask('POST', '/v1/apps', { name: `app-${names}`, scopes: act, ...changes })
  expect([status, body.code]).toEqual([201, undefined])
  return body
}

const mint = async (app: string, body: Record<string, unknown> = {}): Promise<string> =>
  (await ask('POST', '/v1/tokens', { app, ...body })).body.token

const setGrant = (app: string, scopes: readonly string[], more: Record<string, unknown> = {}): Promise<Answer> =>
  ask('PUT', `/v1/apps/${app}/grant`, { scopes, ...more })

const ownGrant = (token: string, query = '', at = gateway): Promise<Answer> =>
  at.ask({ path: `/v1/grant${query}`, token, base: at.listeners.addresses.app })

const told = (appId: string): { version: number; status: string; scopes: string[] } | undefined =>
  wire
    .asks('lifecycle.grant.changed')
    .flatMap(
      ({ input }) =>
        (input as { grants: { app_id: string; version: number; status: string; scopes: string[] }[] }).grants,
    )
    .findLast(({ app_id }) => app_id === appId)

describe('registering an app', () => {
  it('answers it with its grant, and finds it by id and by name', async () => {
    const app = await register({ description: 'Notes', origins: ['https://notes.example'] })
    expect(app).toMatchObject({
      id: expect.stringMatching(/^app_/),
      description: 'Notes',
      origins: ['https://notes.example'],
      tokens: 0,
      grant: { user_id: 'owner', scopes: act, profiles: null, version: 1, status: 'active' },
    })
    expect((await ask('GET', `/v1/apps/${app.id}`)).body).toEqual(app)
    expect((await ask('GET', `/v1/apps/${app.name}`)).body).toEqual(app)
  })

  it('under a name that is taken is refused', async () => {
    const { name } = await register()
    const { status, body } = await ask('POST', '/v1/apps', { name })
    expect([status, body.code]).toEqual([409, 'already_exists'])
  })

  it('once for a key, whatever was asked twice', async () => {
    const send = () => ask('POST', '/v1/apps', { name: 'keyed', scopes: act }, { 'idempotency-key': 'k-1' })
    const [first, again] = [await send(), await send()]
    expect(again.body).toEqual(first.body)
    expect(again.headers['idempotency-replayed']).toBe('true')
  })

  it.each([
    ['an unknown scope', ['svc:everything'], 'svc:everything'],
    ['the owner’s own', ['*'], '*'],
    ['an old short name', ['act'], 'act'],
    ['a shell without the model', ['svc:act'], 'svc:act requires svc:llm'],
  ])('with %s is refused, and says why', async (_what, scopes, named) => {
    const { status, body } = await ask('POST', '/v1/apps', { name: 'wrong', scopes })
    expect([status, body.code]).toEqual([422, 'validation_failed'])
    expect(JSON.stringify(body)).toContain(named)
  })

  it('takes the bare scope of documents for the app’s own', async () => {
    const app = await register({ scopes: ['svc:memory:rw:app'] })
    expect(app.grant.scopes).toEqual([`svc:memory:rw:app:${app.id}`])
  })

  it('tells lifecycle of the grant before it answers', async () => {
    const { id } = await register()
    expect(told(id)).toMatchObject({ version: 1, status: 'active', scopes: act })
  })
})

describe('listing apps', () => {
  it('goes by pages, the newest first', async () => {
    const made = [await register(), await register(), await register()].map(({ id }) => id).reverse()
    const first = (await ask('GET', '/v1/apps?limit=2')).body
    const rest = (await ask('GET', `/v1/apps?limit=2&after=${first.next_cursor}`)).body
    expect([...first.data, ...rest.data].slice(0, 3).map(({ id }: App) => id)).toEqual(made)
    expect(first.has_more).toBe(true)
  })
})

describe('updating an app', () => {
  it('changes what is named and leaves its grant alone', async () => {
    const app = await register({ description: 'old' })
    const { body } = await ask('PATCH', `/v1/apps/${app.id}`, { description: null, origins: ['http://localhost:5173'] })
    expect(body).toMatchObject({
      name: app.name,
      description: null,
      origins: ['http://localhost:5173'],
      grant: app.grant,
    })
  })

  it('to the name of another is refused', async () => {
    const [one, other] = [await register(), await register()]
    const { status, body } = await ask('PATCH', `/v1/apps/${one.id}`, { name: other.name })
    expect([status, body.code]).toEqual([409, 'already_exists'])
  })

  it('that is not there, or is read with anything but the owner’s token, is refused', async () => {
    expect((await ask('PATCH', '/v1/apps/nowhere', {})).body.code).toBe('not_found')
    const app = await register()
    const token = await mint(app.id)
    expect((await gateway.ask({ path: `/v1/apps/${app.id}`, token })).body.code).toBe('owner_required')
  })
})

describe('the grant of an app', () => {
  it('grows by one with each change, and not when it says what it said', async () => {
    const { id } = await register()
    expect((await setGrant(id, ['svc:llm', 'svc:act', 'svc:llm'])).body.version).toBe(1)
    expect((await setGrant(id, ['svc:llm'])).body).toMatchObject({ version: 2, scopes: ['svc:llm'] })
    expect((await setGrant(id, ['svc:llm'], { profiles: ['b', 'a', 'b'] })).body).toMatchObject({
      version: 3,
      profiles: ['a', 'b'],
    })
    expect((await ask('DELETE', `/v1/apps/${id}/grant`)).body).toMatchObject({ version: 4, status: 'revoked' })
    expect((await ask('DELETE', `/v1/apps/${id}/grant`)).body.version).toBe(4)
    expect((await setGrant(id, ['svc:llm'])).body).toMatchObject({ version: 5, status: 'active', profiles: null })
    expect(told(id)).toMatchObject({ version: 5, status: 'active' })
  })

  it('is left alone when it is not at the version that was named', async () => {
    const { id } = await register()
    await setGrant(id, ['svc:llm'], { if_match: 1 })
    const { status, body } = await setGrant(id, [], { if_match: 1 })
    expect([status, body.code, body.version]).toEqual([412, 'precondition_failed', 2])
  })

  it('holds a token from the next call on, at every gateway', async () => {
    const { id } = await register()
    const token = await mint(id)
    const start = (at: TestGateway) =>
      at.ask({ method: 'POST', path: '/v1/nodes', body: { prompt: 'go', cwd: '/tmp' }, token })
    expect([(await start(gateway)).status, (await start(second)).status]).toEqual([201, 201])
    await setGrant(id, ['svc:llm'])
    const { body } = await start(gateway)
    expect([body.code, body.scope]).toEqual(['scope_missing', 'svc:act'])
    const elsewhere = await waitFor(
      async () => {
        const answer = await start(second)
        return answer.status === 403 ? answer.body : null
      },
      { timeout: 1000 },
    )
    expect([elsewhere.code, elsewhere.scope]).toEqual(['scope_missing', 'svc:act'])
  })

  it('that was revoked leaves an app to ask for it, and nothing else', async () => {
    const { id } = await register()
    const token = await mint(id)
    await ask('DELETE', `/v1/apps/${id}/grant`)
    const { status, body } = await gateway.ask({ path: '/v1/nodes', token })
    expect([status, body.code, body.app_id]).toEqual([403, 'grant_revoked', id])
    expect((await ownGrant(token)).body.status).toBe('revoked')
    expect((await gateway.ask({ path: '/v1/token', token })).body.scopes).toEqual([])
    await setGrant(id, act)
    expect((await gateway.ask({ path: '/v1/nodes?under=none', token })).body.code).not.toBe('grant_revoked')
  })

  it('holds the app’s nodes: they keep what is their own, and lose scopes and the model', async () => {
    const { id } = await register()
    const node = wire.create()
    wire.answers['lifecycle.node.principal'] = () => ({
      node_id: node,
      generation: 1,
      ended: false,
      scopes: ['svc:act', 'svc:llm', 'svc:schedule'],
      root_id: node,
      principal: `app:${id}`,
      app_id: id,
      profile: null,
      place: { cwd: '/tmp', host_id: null, git_dir: null },
    })
    const token = gateway.nodeToken(node)
    const message = () => gateway.ask({ method: 'POST', path: `/v1/nodes/${node}/message`, body: {}, token })
    const think = () => gateway.ask({ method: 'POST', path: `/v1/nodes/${node}/broker/model-calls`, body: {}, token })
    expect((await message()).body).toMatchObject({ code: 'validation_failed' })
    expect((await gateway.ask({ path: '/v1/token', token })).body.scopes).toEqual(act)
    await setGrant(id, ['svc:llm'])
    expect((await message()).body).toMatchObject({ code: 'scope_missing', scope: 'svc:act' })
    expect((await think()).status).toBe(422)
    await ask('DELETE', `/v1/apps/${id}/grant`)
    expect((await message()).body.code).toBe('grant_revoked')
    expect((await think()).body.code).toBe('grant_revoked')
    const claim = await gateway.ask({ method: 'POST', path: `/v1/nodes/${node}/mail/claim`, body: {}, token })
    expect(claim.status).toBe(200)
  })
})

describe('reading one’s own grant', () => {
  it('is for an app’s token alone', async () => {
    expect((await ownGrant(gateway.token)).body.code).toBe('app_token_required')
  })

  it('at once when it is newer than what the caller knows', async () => {
    const { id } = await register()
    const token = await mint(id)
    expect((await ownGrant(token, '?wait=60&since=0')).body).toMatchObject({ app_id: id, version: 1 })
  })

  it('waits for a change, which is heard of whichever gateway made it', async () => {
    const { id } = await register()
    const token = await mint(id)
    const held = [ownGrant(token, '?wait=60&since=1'), ownGrant(token, '?wait=60&since=1', second)]
    await waitFor(() => gateway.listeners.requestsInHand > 0 && second.listeners.requestsInHand > 0)
    await setGrant(id, ['svc:llm'])
    for (const { body } of await Promise.all(held)) expect(body).toMatchObject({ version: 2, scopes: ['svc:llm'] })
  })

  it('comes unchanged when the time is over', async () => {
    const { id } = await register()
    const token = await mint(id)
    expect((await ownGrant(token, '?wait=1&since=1')).body.version).toBe(1)
  })

  it('ends when the app’s token is revoked meanwhile', async () => {
    const { id } = await register()
    const minted = (await ask('POST', '/v1/tokens', { app: id })).body
    const held = ownGrant(minted.token, '?wait=60&since=1')
    await waitFor(() => gateway.listeners.requestsInHand > 0)
    await ask('DELETE', `/v1/tokens/${minted.id}`)
    const { status, body } = await held
    expect([status, body.code]).toEqual([401, 'token_revoked'])
  })
})

describe('deleting an app', () => {
  it('ends its tokens and its grant at once, and frees its name', async () => {
    const app = await register()
    const token = await mint(app.id)
    expect((await ask('DELETE', `/v1/apps/${app.name}`)).status).toBe(204)
    expect((await gateway.ask({ path: '/v1/token', token })).body.code).toBe('token_revoked')
    expect((await ask('GET', `/v1/apps/${app.id}`)).body.code).toBe('not_found')
    expect(told(app.id)).toMatchObject({ version: 2, status: 'revoked' })
    expect((await ask('DELETE', `/v1/apps/${app.id}`)).body.code).toBe('not_found')
    expect((await register({ name: app.name })).id).not.toBe(app.id)
  })
})

describe('lifecycle’s copy of a grant', () => {
  it('is told again until it is taken', async () => {
    const { id } = await register()
    let refusals = 0
    wire.answers['lifecycle.grant.changed'] = () => {
      refusals += 1
      if (refusals < 3) throw new SvcError('not_leader')
      return { noted: 1 }
    }
    await setGrant(id, [])
    await waitFor(() => refusals >= 3)
    expect(told(id)).toMatchObject({ version: 2, scopes: [] })
  })

  // A gateway that dies between the commit and its word to lifecycle leaves the rows: the next one to start tells them.
  it('is told by a gateway that starts, whoever changed the grant', async () => {
    const { id } = await register()
    await database.query('UPDATE gateway.grants SET version = 9, scopes = $2 WHERE app_id = $1', [id, ['svc:llm']])
    const third = await TestGateway.start(
      testNats().url,
      { ...database, drop: async () => undefined },
      {
        SVC_OWNER_TOKEN_FILE: join(gateway.settings.SVC_DATA_DIR, 'owner.token'),
      },
    )
    try {
      await waitFor(() => told(id)?.version === 9)
    } finally {
      await third.stop()
    }
  })
})
