import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Database } from '#common/kernel/database/database.js'
import { newId } from '#common/kernel/ids.js'
import { hashToken, mintToken } from '#common/kernel/tokens.js'
import { type TestDatabase, testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { type Answer, TestGateway, TestWatcher } from './testing/gateway.fixture.js'
import { WireLifecycle } from './testing/wire-lifecycle.fixture.js'
import { TokenUse } from './tokens/token.use.js'

/** Two gateways on one database and one bus, as replicas are, and one file of the owner's token. */
let here: TestGateway
let there: TestGateway
let database: TestDatabase
let wire: WireLifecycle
let directory: string
let app: { id: string; name: string }
let apps = 0

beforeAll(async () => {
  const { url } = testNats()
  directory = mkdtempSync(join(tmpdir(), 'svc-owner-'))
  const shared = { SVC_OWNER_TOKEN_FILE: join(directory, 'owner.token') }
  ;[wire, database] = await Promise.all([WireLifecycle.start(url), testDatabase()])
  here = await TestGateway.start(url, database, shared)
  there = await TestGateway.start(url, database, shared)
})
afterAll(async () => {
  await there?.running.close()
  await here?.stop()
  await wire?.stop()
  rmSync(directory, { recursive: true, force: true })
})

const held = ['svc:llm', 'svc:act', 'svc:memory:rw:app', 'svc:files:rw:user:/srv']

beforeEach(async () => {
  apps += 1
  const { body } = await ask('POST', '/v1/apps', { name: `notes-${apps}`, scopes: held })
  app = body
})

const owner = (): string => readFileSync(join(directory, 'owner.token'), 'utf8').trim()

const ask = (method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Answer> =>
  here.ask({ method, path, token: owner(), ...(body !== undefined && { body }), headers: more })

const mint = async (body: object = {}): Promise<Answer['body']> => {
  const answer = await ask('POST', '/v1/tokens', { app: app.id, ...body })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return answer.body
}

const self = (token: string, gateway = here): Promise<Answer> => gateway.ask({ path: '/v1/token', token })

/** A stream of events that this token opened at the second gateway. */
const watch = (token: string, node: string): Promise<TestWatcher> =>
  TestWatcher.open(there, `/v1/nodes/${node}/events`, { authorization: `Bearer ${token}` })

/** How long (ms) after `act` what is open ended, and how. */
const endAfter = async (watcher: TestWatcher, act: () => Promise<unknown>): Promise<{ ms: number; reason: string }> => {
  await act()
  const began = performance.now()
  await waitFor(() => watcher.ended, { interval: 5, what: 'the end of the stream' })
  return { ms: performance.now() - began, reason: watcher.events.at(-1)?.data.reason }
}

describe('minting a token', () => {
  it('answers it once, and what it stands for', async () => {
    const minted = await mint({ scopes: ['svc:llm', 'svc:memory:read:app'], label: 'phone' })
    expect(minted).toMatchObject({
      kind: 'app',
      app_id: app.id,
      label: 'phone',
      scopes: ['svc:llm', `svc:memory:read:app:${app.id}`],
      status: 'active',
      last_used_at: null,
      token: expect.stringMatching(/^svc_app_/),
    })
    expect((await self(minted.token, there)).body).toMatchObject({
      kind: 'app',
      principal: `app:${app.id}`,
      token_id: minted.id,
      scopes: minted.scopes,
      expires_at: minted.expires_at,
    })
    const { body } = await ask('GET', `/v1/tokens/${minted.id}`)
    expect(body).toEqual({ ...minted, token: undefined, last_used_at: null })
  })

  it('ends after 90 days, at a time that was asked for, or never', async () => {
    const days = async (body: object): Promise<number | null> => {
      const { created_at, expires_at } = await mint(body)
      return expires_at && (Date.parse(expires_at) - Date.parse(created_at)) / 86_400_000
    }
    expect([await days({}), await days({ expires_in: 86_400 }), await days({ expires_in: null })]).toEqual([
      90,
      1,
      null,
    ])
  })

  it('without a list follows the grant, with an empty one permits nothing', async () => {
    const following = await mint()
    const empty = await mint({ scopes: [] })
    expect([following.scopes, empty.scopes]).toEqual([null, []])
    expect((await self(following.token)).body.scopes).toContain('svc:act')
    expect((await self(empty.token)).body.scopes).toEqual([])
    await ask('PUT', `/v1/apps/${app.id}/grant`, { scopes: ['svc:llm'] })
    expect((await self(following.token)).body.scopes).toEqual(['svc:llm'])
  })

  it('names each scope outside the grant', async () => {
    const scopes = ['svc:llm', 'svc:schedule', 'svc:files:read:user:/home']
    const { status, body } = await ask('POST', '/v1/tokens', { app: app.name, scopes })
    expect([status, body.code, body.scopes]).toEqual([
      403,
      'scope_exceeds_ceiling',
      ['svc:files:read:user:/home', 'svc:schedule'],
    ])
  })

  it.each([['ask'], ['svc:unknown'], ['*'], ['svc:act'], ['github:issues']])('refuses %j', async (scope) => {
    const { status, body } = await ask('POST', '/v1/tokens', { app: app.id, scopes: [scope] })
    expect([status, body.code]).toEqual([422, 'validation_failed'])
    if (scope !== 'svc:act') expect(body.accepted).toContain('svc:memory:manage:user')
  })

  it('is refused for no app, a profile that the grant is not for, and a revoked grant', async () => {
    expect((await ask('POST', '/v1/tokens', { app: 'nobody' })).body.code).toBe('not_found')
    await ask('PUT', `/v1/apps/${app.id}/grant`, { scopes: held, profiles: ['p'] })
    expect((await ask('POST', '/v1/tokens', { app: app.id, profile: 'q' })).body.errors[0].pointer).toBe('/profile')
    expect((await mint({ profile: 'p' })).profile).toBe('p')
    await ask('DELETE', `/v1/apps/${app.id}/grant`)
    expect((await ask('POST', '/v1/tokens', { app: app.id })).body.code).toBe('grant_revoked')
  })

  it('once for a key, and its repetition holds no token', async () => {
    const key = { 'idempotency-key': `mint-${app.id}` }
    const first = await ask('POST', '/v1/tokens', { app: app.id }, key)
    const again = await ask('POST', '/v1/tokens', { app: app.id }, key)
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(again.body).toEqual({ ...first.body, token: null })
    expect((await ask('POST', '/v1/tokens', { app: app.id, label: 'x' }, key)).body.code).toBe('idempotency_key_reused')
  })

  it('leaves no secret in any table, replayed and rotated too', async () => {
    const key = { 'idempotency-key': `kept-${app.id}` }
    const made = [(await ask('POST', '/v1/tokens', { app: app.id }, key)).body]
    await ask('POST', '/v1/tokens', { app: app.id }, key)
    for (const round of [1, 2]) {
      const path = `/v1/tokens/${made[0].id}/rotate`
      const { body } = await ask('POST', path, { overlap: 60 }, { 'idempotency-key': `rot-${app.id}` })
      if (round === 1) made.push(body)
      else expect(body).toEqual({ ...made[1], token: null })
    }
    const secrets = [...made.map(({ token }) => token as string), owner()].map((token) => token.split('_').at(-1)!)
    const tables = await database.query<{ name: string }>(
      "SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables WHERE table_schema IN ('canvas', 'gateway', 'models')",
    )
    expect(tables.length).toBeGreaterThan(10)
    for (const { name } of tables) {
      const [row] = await database.query<{ text: string | null }>(
        `SELECT string_agg(t::text, '') AS text FROM ${name} t`,
      )
      for (const secret of secrets)
        expect({ name, found: row?.text?.includes(secret) ?? false }).toEqual({ name, found: false })
    }
  })
})

describe('the list of tokens', () => {
  it('has those of an app by pages, the newest first, and by status', async () => {
    const [first, second, third] = [await mint(), await mint(), await mint()]
    await ask('DELETE', `/v1/tokens/${second.id}`)
    const page = await ask('GET', `/v1/tokens?app=${app.name}&limit=2`)
    expect(page.body.data.map(({ id }: { id: string }) => id)).toEqual([third.id, second.id])
    const rest = await ask('GET', `/v1/tokens?app=${app.id}&limit=2&after=${page.body.next_cursor}`)
    expect(rest.body).toMatchObject({ data: [{ id: first.id }], has_more: false })
    const active = await ask('GET', `/v1/tokens?app=${app.id}&status=active`)
    expect(active.body.data.map(({ id }: { id: string }) => id)).toEqual([third.id, first.id])
    expect((await ask('GET', `/v1/tokens?app=${app.id}&status=revoked`)).body.data).toMatchObject([{ id: second.id }])
    expect(JSON.stringify(page.body)).not.toContain('svc_app_')
  })

  it('is its owner’s alone', async () => {
    const { token } = await mint()
    for (const path of ['/v1/tokens', '/v1/apps']) {
      expect((await here.ask({ path, token })).body.code).toBe('owner_required')
    }
  })
})

describe('the use of a token', () => {
  it('is kept to the minute, in batches', async () => {
    const minted = await mint()
    await self(minted.token)
    expect((await ask('GET', `/v1/tokens/${minted.id}`)).body.last_used_at).toBeNull()
    await here.running.app.get(TokenUse).flush()
    const { body } = await ask('GET', `/v1/tokens/${minted.id}`)
    expect(body.last_used_at).toMatch(/:00\.000Z$/)
    const age = Date.parse((await mint()).created_at) - Date.parse(body.last_used_at)
    expect(age).toBeLessThan(120_000)
  })
})

describe('revoking a token', () => {
  it('ends its next call on every gateway at once, and its open streams within a second', async () => {
    const node = wire.create()
    const { id, token } = await mint()
    expect((await self(token, there)).status).toBe(200)
    const stream = await watch(token, node)
    const other = await watch((await mint()).token, node)
    const held = there.ask({ path: `/v1/nodes/${node}/outcome?wait=30`, token })
    await waitFor(() => there.listeners.heldRequests().length === 1)

    const { ms, reason } = await endAfter(stream, () => ask('DELETE', `/v1/tokens/${id}`))

    expect(reason).toBe('token_revoked')
    expect(ms).toBeLessThan(1000)
    expect((await held).body.code).toBe('token_revoked')
    expect((await self(token, there)).body.code).toBe('token_revoked')
    expect((await self(token)).body.code).toBe('token_revoked')
    expect(other.ended).toBe(false)
    other.close()
    expect((await ask('DELETE', `/v1/tokens/${id}`)).status).toBe(204)
  })

  it('of which nobody was told ends its stream within a second all the same', async () => {
    const node = wire.create()
    const { id, token } = await mint()
    const stream = await watch(token, node)
    const { ms } = await endAfter(stream, () =>
      database.query(`UPDATE gateway.tokens SET revoked_at = now() WHERE id = '${id.slice(4)}'`),
    )
    expect(ms).toBeLessThan(1000)
  })

  it('that expires ends its stream when it does', async () => {
    const node = wire.create()
    const { id, token } = await mint()
    const stream = await watch(token, node)
    const { reason } = await endAfter(stream, () =>
      database.query(`UPDATE gateway.tokens SET expires_at = now() + interval '300 ms' WHERE id = '${id.slice(4)}'`),
    )
    expect(reason).toBe('token_expired')
  })

  it('refuses an unknown one, and the owner’s own', async () => {
    expect((await ask('DELETE', `/v1/tokens/${newId('tok')}`)).body.code).toBe('not_found')
    const { body } = await ask('GET', '/v1/token')
    expect((await ask('DELETE', `/v1/tokens/${body.token_id}`)).body.code).toBe('owner_token_needed')
  })
})

describe('a grant that is narrowed', () => {
  it('ends the streams whose gate it no longer opens, and no others', async () => {
    wire.answers['llm.call'] = async function* (ctx) {
      yield { type: 'text', text: 'Hel' }
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve(), { once: true }))
    }
    const { token } = await mint()
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'x' }] }]
    const llm = await TestWatcher.open(
      there,
      '/v1/llm',
      { authorization: `Bearer ${token}` },
      { method: 'POST', body: { messages } },
    )
    const other = await watch(token, wire.create())
    const { reason, ms } = await endAfter(llm, () =>
      ask('PUT', `/v1/apps/${app.id}/grant`, { scopes: ['svc:memory:rw:app'] }),
    )
    delete wire.answers['llm.call']
    expect([reason, ms < 1000, other.ended]).toEqual(['scope_missing', true, false])
    other.close()
  })

  it('or taken back ends every stream of the app, and says so', async () => {
    const node = wire.create()
    const { token } = await mint()
    const own = await watch(token, node)
    const { reason } = await endAfter(own, () => ask('DELETE', `/v1/apps/${app.id}/grant`))
    expect(reason).toBe('grant_revoked')
    expect((await self(token, there)).status).toBe(200)
  })
})

describe('a node that is canceled', () => {
  it('loses its streams with its token', async () => {
    const node = wire.create()
    const stream = await watch(there.nodeToken(node), node)
    const { ms, reason } = await endAfter(stream, async () => {
      wire.nodes.get(node)!.ended = true
      wire.record(node, 'node.usage')
      wire.record(node, 'node.canceled')
    })
    expect([reason, ms < 1000]).toEqual(['token_revoked', true])
  })
})

describe('rotating a token', () => {
  it('ends the old one at once unless it is given time', async () => {
    const first = await mint({ scopes: ['svc:llm'], label: 'phone', expires_in: 86_400 })
    const { status, body: second } = await ask('POST', `/v1/tokens/${first.id}/rotate`, {})
    expect(status).toBe(201)
    expect(second).toMatchObject({ scopes: ['svc:llm'], label: 'phone', rotated_from: first.id, app_id: app.id })
    expect(Date.parse(second.expires_at) - Date.parse(second.created_at)).toBe(86_400_000)
    expect((await self(first.token, there)).body.code).toBe('token_revoked')
    expect((await self(second.token, there)).status).toBe(200)

    const { body: third } = await ask('POST', `/v1/tokens/${second.id}/rotate`, { overlap: 3600 })
    const both = await Promise.all([self(second.token, there), self(third.token, there)])
    expect(both.map(({ status: each }) => each)).toEqual([200, 200])
    expect((await ask('GET', `/v1/tokens/${second.id}`)).body.status).toBe('active')
  })

  it('happens once to each: the next one is its successor’s', async () => {
    const first = await mint()
    const { body: second } = await ask('POST', `/v1/tokens/${first.id}/rotate`, { overlap: 60 })
    const { body } = await ask('POST', `/v1/tokens/${first.id}/rotate`, {})
    expect([body.code, body.successor]).toEqual(['token_spent', second.id])
    await ask('DELETE', `/v1/tokens/${second.id}`)
    expect((await ask('POST', `/v1/tokens/${second.id}/rotate`, {})).body.code).toBe('token_spent')
  })
})

describe('a publish token', () => {
  it('says what it is, and opens nothing else', async () => {
    const id = newId('tok')
    const token = mintToken('pub', id.slice(4))
    const plain = new Database({ url: database.url, application: 'test', log: console as never, max: 1 })
    await plain.query(
      "INSERT INTO gateway.tokens (id, kind, hash, scopes, object_ref, created_at) VALUES ($1, 'pub', $2, '{}', 'obj_1', now())",
      [id.slice(4), hashToken(token)],
    )
    await plain.close()
    expect((await self(token)).body).toMatchObject({ kind: 'pub', principal: 'object:obj_1', scopes: [] })
    for (const path of ['/v1/nodes', '/v1/status', '/v1/tokens', '/v1/canvas/roster']) {
      expect((await here.ask({ path, token })).body.code).toBe('publish_token_only')
    }
  })
})

describe("the owner's token", () => {
  const current = async (): Promise<string> => (await ask('GET', '/v1/token')).body.token_id

  it('is rotated: the file holds the new one, every gateway takes it, and the old one has its time', async () => {
    const before = owner()
    const { body } = await ask('POST', `/v1/tokens/${await current()}/rotate`, { overlap: 60 })
    expect(owner()).toBe(body.token)
    for (const token of [before, body.token]) {
      for (const gateway of [here, there]) expect((await self(token, gateway)).body.kind).toBe('owner')
    }
    const stream = await watch(before, wire.create())
    const { reason } = await endAfter(stream, () => ask('DELETE', `/v1/tokens/${body.rotated_from}`))
    expect(reason).toBe('token_revoked')
    expect((await self(body.token, there)).status).toBe(200)
  })

  it('stays what it was when its rotation fails after the file was written', async () => {
    const before = owner()
    await database.query(
      "CREATE FUNCTION gateway.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$; CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON gateway.tokens DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION gateway.fail()",
    )
    const { status } = await ask('POST', `/v1/tokens/${await current()}/rotate`, {})
    expect(status).toBe(500)
    await waitFor(() => owner() === before)
    await database.query('DROP TRIGGER fail ON gateway.tokens; DROP FUNCTION gateway.fail()')
    expect((await self(before)).body.kind).toBe('owner')
  })

  it('in the file before its row, as after a kill between the two, is taken at the next start', async () => {
    const before = owner()
    const written = mintToken('own', newId('tok').slice(4))
    writeFileSync(join(directory, 'owner.token'), `${written}\n`)
    const third = await TestGateway.start(testNats().url, database, {
      SVC_OWNER_TOKEN_FILE: join(directory, 'owner.token'),
    })
    try {
      expect((await self(written, third)).body.kind).toBe('owner')
      expect((await self(before, third)).body.code).toBe('token_revoked')
      await waitFor(async () => (await self(before, there)).body.code === 'token_revoked')
    } finally {
      await third.running.close()
    }
  })
})
