import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { newId } from '#common/kernel/ids.js'
import { hashToken, mintToken } from '#common/kernel/tokens.js'
import { testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { held, TwoGateways } from './testing/two-gateways.fixture.js'
import { TokenUse } from './tokens/token.use.js'

let two: TwoGateways
let app: { id: string; name: string }

beforeAll(async () => {
  two = await TwoGateways.start(testNats().url, await testDatabase())
})
afterAll(() => two?.stop())
beforeEach(async () => {
  app = await two.app()
})

describe('minting a token', () => {
  it('answers it once, and what it stands for', async () => {
    const minted = await two.mint(app.id, { scopes: ['svc:llm', 'svc:memory:read:app'], label: 'phone' })
    expect(minted).toMatchObject({
      kind: 'app',
      app_id: app.id,
      label: 'phone',
      scopes: ['svc:llm', `svc:memory:read:app:${app.id}`],
      status: 'active',
      last_used_at: null,
      token: expect.stringMatching(/^svc_app_/),
    })
    expect((await two.self(minted.token, two.there)).body).toMatchObject({
      kind: 'app',
      principal: `app:${app.id}`,
      token_id: minted.id,
      scopes: minted.scopes,
      expires_at: minted.expires_at,
    })
    const { body } = await two.ask('GET', `/v1/tokens/${minted.id}`)
    expect(body).toEqual({ ...minted, token: undefined, last_used_at: null })
  })

  it('ends after 90 days, at a time that was asked for, or never', async () => {
    const days = async (body: object): Promise<number | null> => {
      const { created_at, expires_at } = await two.mint(app.id, body)
      return expires_at && (Date.parse(expires_at) - Date.parse(created_at)) / 86_400_000
    }
    expect([await days({}), await days({ expires_in: 86_400 }), await days({ expires_in: null })]).toEqual([
      90,
      1,
      null,
    ])
  })

  it('without a list follows the grant, with an empty one permits nothing', async () => {
    const following = await two.mint(app.id)
    const empty = await two.mint(app.id, { scopes: [] })
    expect([following.scopes, empty.scopes]).toEqual([null, []])
    expect((await two.self(following.token)).body.scopes).toContain('svc:act')
    expect((await two.self(empty.token)).body.scopes).toEqual([])
    await two.ask('PUT', `/v1/apps/${app.id}/grant`, { scopes: ['svc:llm'] })
    expect((await two.self(following.token)).body.scopes).toEqual(['svc:llm'])
  })

  it('names each scope outside the grant', async () => {
    const scopes = ['svc:llm', 'svc:schedule', 'svc:files:read:user:/home']
    const { status, body } = await two.ask('POST', '/v1/tokens', { app: app.name, scopes })
    expect([status, body.code, body.scopes]).toEqual([
      403,
      'scope_exceeds_ceiling',
      ['svc:files:read:user:/home', 'svc:schedule'],
    ])
  })

  it.each([['ask'], ['svc:unknown'], ['*'], ['svc:act'], ['github:issues']])('refuses %j', async (scope) => {
    const { status, body } = await two.ask('POST', '/v1/tokens', { app: app.id, scopes: [scope] })
    expect([status, body.code]).toEqual([422, 'validation_failed'])
    if (scope !== 'svc:act') expect(body.accepted).toContain('svc:memory:manage:user')
  })

  it('is refused for no app, a profile that the grant is not for, and a revoked grant', async () => {
    expect((await two.ask('POST', '/v1/tokens', { app: 'nobody' })).body.code).toBe('not_found')
    await two.ask('PUT', `/v1/apps/${app.id}/grant`, { scopes: held, profiles: ['p'] })
    expect((await two.ask('POST', '/v1/tokens', { app: app.id, profile: 'q' })).body.errors[0].pointer).toBe('/profile')
    expect((await two.mint(app.id, { profile: 'p' })).profile).toBe('p')
    await two.ask('DELETE', `/v1/apps/${app.id}/grant`)
    expect((await two.ask('POST', '/v1/tokens', { app: app.id })).body.code).toBe('grant_revoked')
  })

  it('once for a key, and its repetition holds no token', async () => {
    const key = { 'idempotency-key': `mint-${app.id}` }
    const first = await two.ask('POST', '/v1/tokens', { app: app.id }, key)
    const again = await two.ask('POST', '/v1/tokens', { app: app.id }, key)
    expect(again.headers['idempotency-replayed']).toBe('true')
    expect(again.body).toEqual({ ...first.body, token: null })
    expect((await two.ask('POST', '/v1/tokens', { app: app.id, label: 'x' }, key)).body.code).toBe(
      'idempotency_key_reused',
    )
  })

  // A gateway that dies between its commit and its answer takes the token with it: the record is all that is left.
  it('whose answer was lost is found under its key after a restart, and rotated', async () => {
    const key = { 'idempotency-key': `lost-${app.id}` }
    const { body: lost } = await two.ask('POST', '/v1/tokens', { app: app.id, scopes: ['svc:llm'] }, key)
    const again = await two.another()
    try {
      const path = '/v1/tokens'
      const repeated = await again.ask({
        method: 'POST',
        path,
        body: { app: app.id, scopes: ['svc:llm'] },
        headers: key,
      })
      expect([repeated.status, repeated.body.id, repeated.body.token]).toEqual([201, lost.id, null])
      const rotated = await again.ask({ method: 'POST', path: `${path}/${lost.id}/rotate`, body: {} })
      expect((await two.self(rotated.body.token)).body.scopes).toEqual(['svc:llm'])
      expect((await two.self(lost.token)).body.code).toBe('token_revoked')
    } finally {
      await again.running.close()
    }
  })

  it('for an app that is deleted at that moment leaves no token that works', async () => {
    const path = `/v1/apps/${app.id}`
    const asked = Array.from({ length: 6 }, () => two.ask('POST', '/v1/tokens', { app: app.id }))
    const [deleted, ...answers] = await Promise.all([two.ask('DELETE', path), ...asked])
    expect(deleted.status).toBe(204)
    for (const { status, body } of answers) {
      if (status === 201) expect((await two.self(body.token, two.there)).body.code).toBe('token_revoked')
      else expect(body.code).toBe('not_found')
    }
  })

  it('leaves no secret in any table, replayed and rotated too', async () => {
    const key = { 'idempotency-key': `kept-${app.id}` }
    const made = [(await two.ask('POST', '/v1/tokens', { app: app.id }, key)).body]
    await two.ask('POST', '/v1/tokens', { app: app.id }, key)
    for (const round of [1, 2]) {
      const path = `/v1/tokens/${made[0].id}/rotate`
      const { body } = await two.ask('POST', path, { overlap: 60 }, { 'idempotency-key': `rot-${app.id}` })
      if (round === 1) made.push(body)
      else expect(body).toEqual({ ...made[1], token: null })
    }
    const secrets = [...made.map(({ token }) => token as string), two.owner].map((token) => token.split('_').at(-1)!)
    const tables = await two.database.query<{ name: string }>(
      "SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables WHERE table_schema IN ('canvas', 'gateway', 'models', 'objects', 'scheduler')",
    )
    expect(tables.length).toBeGreaterThan(10)
    for (const { name } of tables) {
      const [row] = await two.database.query<{ text: string | null }>(
        `SELECT string_agg(t::text, '') AS text FROM ${name} t`,
      )
      for (const secret of secrets)
        expect({ name, found: row?.text?.includes(secret) ?? false }).toEqual({ name, found: false })
    }
  })
})

describe('the list of tokens', () => {
  it('has those of an app by pages, the newest first, and by status', async () => {
    const [first, second, third] = [await two.mint(app.id), await two.mint(app.id), await two.mint(app.id)]
    await two.ask('DELETE', `/v1/tokens/${second.id}`)
    const page = await two.ask('GET', `/v1/tokens?app=${app.name}&limit=2`)
    expect(page.body.data.map(({ id }: { id: string }) => id)).toEqual([third.id, second.id])
    const rest = await two.ask('GET', `/v1/tokens?app=${app.id}&limit=2&after=${page.body.next_cursor}`)
    expect(rest.body).toMatchObject({ data: [{ id: first.id }], has_more: false })
    const active = await two.ask('GET', `/v1/tokens?app=${app.id}&status=active`)
    expect(active.body.data.map(({ id }: { id: string }) => id)).toEqual([third.id, first.id])
    expect((await two.ask('GET', `/v1/tokens?app=${app.id}&status=revoked`)).body.data).toMatchObject([
      { id: second.id },
    ])
    expect(JSON.stringify(page.body)).not.toContain('svc_app_')
  })

  it('is its owner’s alone', async () => {
    const { token } = await two.mint(app.id)
    for (const path of ['/v1/tokens', '/v1/apps']) {
      expect((await two.here.ask({ path, token })).body.code).toBe('owner_required')
    }
  })
})

describe('the use of a token', () => {
  it('is kept to the minute, in batches', async () => {
    const minted = await two.mint(app.id)
    await two.self(minted.token)
    expect((await two.ask('GET', `/v1/tokens/${minted.id}`)).body.last_used_at).toBeNull()
    await two.here.running.app.get(TokenUse).flush()
    const { body } = await two.ask('GET', `/v1/tokens/${minted.id}`)
    expect(body.last_used_at).toMatch(/:00\.000Z$/)
    const age = Date.parse((await two.mint(app.id)).created_at) - Date.parse(body.last_used_at)
    expect(age).toBeLessThan(120_000)
  })
})

describe('a publish token', () => {
  it('says what it is, and opens nothing else', async () => {
    const id = newId('tok')
    const token = mintToken('pub', id.slice(4))
    await two.database.query(
      "INSERT INTO gateway.tokens (id, kind, hash, scopes, object_ref, created_at) VALUES ($1, 'pub', $2, '{}', 'obj_1', now())",
      [id.slice(4), hashToken(token)],
    )
    expect((await two.self(token)).body).toMatchObject({ kind: 'pub', principal: 'object:obj_1', scopes: [] })
    for (const path of ['/v1/nodes', '/v1/status', '/v1/tokens', '/v1/canvas/roster']) {
      expect((await two.here.ask({ path, token })).body.code).toBe('publish_token_only')
    }
  })
})
