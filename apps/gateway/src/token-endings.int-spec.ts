import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { newId } from '#common/kernel/ids.js'
import { mintToken } from '#common/kernel/tokens.js'
import { testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { TestWatcher } from './testing/gateway.fixture.js'
import { TwoGateways } from './testing/two-gateways.fixture.js'
import { TrustTail } from './trust/trust.tail.js'

let two: TwoGateways
let app: { id: string; name: string }

beforeAll(async () => {
  two = await TwoGateways.start(testNats().url, await testDatabase())
})
afterAll(() => two?.stop())
beforeEach(async () => {
  app = await two.app()
})

/** How long (ms) after `act` what is open ended, and how. */
const endAfter = async (watcher: TestWatcher, act: () => Promise<unknown>): Promise<{ ms: number; reason: string }> => {
  await act()
  const began = performance.now()
  await waitFor(() => watcher.ended, { interval: 5, what: 'the end of the stream' })
  return { ms: performance.now() - began, reason: watcher.events.at(-1)?.data.reason }
}

describe('revoking a token', () => {
  it('ends its next call on every gateway at once, and its open streams within a second', async () => {
    const node = two.wire.create()
    const { id, token } = await two.mint(app.id)
    expect((await two.self(token, two.there)).status).toBe(200)
    const stream = await two.watch(token, node)
    const other = await two.watch((await two.mint(app.id)).token, node)
    const held = two.there.ask({ path: `/v1/nodes/${node}/outcome?wait=30`, token })
    await waitFor(() => two.there.listeners.lastingRequests().length === 1)

    const { ms, reason } = await endAfter(stream, () => two.ask('DELETE', `/v1/tokens/${id}`))

    expect(reason).toBe('token_revoked')
    expect(ms).toBeLessThan(1000)
    expect((await held).body.code).toBe('token_revoked')
    expect((await two.self(token, two.there)).body.code).toBe('token_revoked')
    expect((await two.self(token)).body.code).toBe('token_revoked')
    expect(other.ended).toBe(false)
    other.close()
    expect((await two.ask('DELETE', `/v1/tokens/${id}`)).status).toBe(204)
  })

  it('is told to every other gateway, as a change of a grant is', async () => {
    const heard: unknown[] = []
    two.there.running.app.get(TrustTail).listen((change) => heard.push(change))
    const { id } = await two.mint(app.id)
    await two.ask('DELETE', `/v1/tokens/${id}`)
    await two.ask('PUT', `/v1/apps/${app.id}/grant`, { scopes: [] })
    await waitFor(() => heard.length >= 2)
    expect(heard).toEqual([{ tokens: [id] }, { apps: [app.id] }])
  })

  it('of which nobody was told ends its stream within a second all the same', async () => {
    const node = two.wire.create()
    const { id, token } = await two.mint(app.id)
    const stream = await two.watch(token, node)
    const { ms } = await endAfter(stream, () =>
      two.database.query(`UPDATE gateway.tokens SET revoked_at = now() WHERE id = '${id.slice(4)}'`),
    )
    expect(ms).toBeLessThan(1000)
  })

  // One look waited for all tokens: while lifecycle hung, a revoked token's streams lasted as long as a call may.
  it('ends its streams within a second though nobody answers what another token stands for', async () => {
    const silent = two.wire.create()
    const other = await two.watch(two.there.nodeToken(silent), silent)
    const { id, token } = await two.mint(app.id)
    const stream = await two.watch(token, two.wire.create())
    const answered = Promise.withResolvers<void>()
    two.wire.answers['lifecycle.node.principal'] = () => answered.promise.then(() => ({}))
    const asked = two.wire.asks('lifecycle.node.principal').length
    two.wire.record(silent, 'node.renamed')
    await waitFor(() => two.wire.asks('lifecycle.node.principal').length > asked)
    const { ms, reason } = await endAfter(stream, () => two.ask('DELETE', `/v1/tokens/${id}`))
    delete two.wire.answers['lifecycle.node.principal']
    answered.resolve()
    expect([reason, ms < 1000, other.ended]).toEqual(['token_revoked', true, false])
    other.close()
  })

  it('that expires ends its stream when it does', async () => {
    const node = two.wire.create()
    const { id, token } = await two.mint(app.id)
    const stream = await two.watch(token, node)
    const { reason } = await endAfter(stream, () =>
      two.database.query(
        `UPDATE gateway.tokens SET expires_at = now() + interval '300 ms' WHERE id = '${id.slice(4)}'`,
      ),
    )
    expect(reason).toBe('token_expired')
  })

  it('refuses an unknown one, and the owner’s own', async () => {
    expect((await two.ask('DELETE', `/v1/tokens/${newId('tok')}`)).body.code).toBe('not_found')
    const { body } = await two.ask('GET', '/v1/token')
    expect((await two.ask('DELETE', `/v1/tokens/${body.token_id}`)).body.code).toBe('owner_token_needed')
  })
})

describe('a grant that is narrowed', () => {
  it('ends the streams whose gate it no longer opens, and no others', async () => {
    two.wire.answers['llm.call'] = async function* (ctx) {
      yield { type: 'text', text: 'Hel' }
      await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve(), { once: true }))
    }
    const { token } = await two.mint(app.id)
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'x' }] }]
    const llm = await TestWatcher.open(
      two.there,
      '/v1/llm',
      { authorization: `Bearer ${token}` },
      { method: 'POST', body: { messages } },
    )
    const other = await two.watch(token, two.wire.create())
    const { reason, ms } = await endAfter(llm, () =>
      two.ask('PUT', `/v1/apps/${app.id}/grant`, { scopes: ['svc:memory:rw:app'] }),
    )
    delete two.wire.answers['llm.call']
    expect([reason, ms < 1000, other.ended]).toEqual(['scope_missing', true, false])
    other.close()
  })

  it('or taken back ends every stream of the app, and says so', async () => {
    const node = two.wire.create()
    const { token } = await two.mint(app.id)
    const own = await two.watch(token, node)
    const { reason } = await endAfter(own, () => two.ask('DELETE', `/v1/apps/${app.id}/grant`))
    expect(reason).toBe('grant_revoked')
    expect((await two.self(token, two.there)).status).toBe(200)
  })
})

describe('a node that is canceled', () => {
  it('loses its streams with its token', async () => {
    const node = two.wire.create()
    const stream = await two.watch(two.there.nodeToken(node), node)
    const { ms, reason } = await endAfter(stream, async () => {
      two.wire.nodes.get(node)!.ended = true
      two.wire.record(node, 'node.usage')
      two.wire.record(node, 'node.canceled')
    })
    expect([reason, ms < 1000]).toEqual(['token_revoked', true])
  })
})

describe('rotating a token', () => {
  it('ends the old one at once unless it is given time', async () => {
    const first = await two.mint(app.id, { scopes: ['svc:llm'], label: 'phone', expires_in: 86_400 })
    const { status, body: second } = await two.ask('POST', `/v1/tokens/${first.id}/rotate`, {})
    expect(status).toBe(201)
    expect(second).toMatchObject({ scopes: ['svc:llm'], label: 'phone', rotated_from: first.id, app_id: app.id })
    expect(Date.parse(second.expires_at) - Date.parse(second.created_at)).toBe(86_400_000)
    expect((await two.self(first.token, two.there)).body.code).toBe('token_revoked')
    expect((await two.self(second.token, two.there)).status).toBe(200)

    const { body: third } = await two.ask('POST', `/v1/tokens/${second.id}/rotate`, { overlap: 3600 })
    const both = await Promise.all([two.self(second.token, two.there), two.self(third.token, two.there)])
    expect(both.map(({ status: each }) => each)).toEqual([200, 200])
    expect((await two.ask('GET', `/v1/tokens/${second.id}`)).body.status).toBe('active')
  })

  it('by two at once makes one successor', async () => {
    const { id } = await two.mint(app.id)
    const answers = await Promise.all([1, 2, 3].map(() => two.ask('POST', `/v1/tokens/${id}/rotate`, {})))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  })

  it('happens once to each: the next one is its successor’s', async () => {
    const first = await two.mint(app.id)
    const { body: second } = await two.ask('POST', `/v1/tokens/${first.id}/rotate`, { overlap: 60 })
    const { body } = await two.ask('POST', `/v1/tokens/${first.id}/rotate`, {})
    expect([body.code, body.successor]).toEqual(['token_spent', second.id])
    await two.ask('DELETE', `/v1/tokens/${second.id}`)
    expect((await two.ask('POST', `/v1/tokens/${second.id}/rotate`, {})).body.code).toBe('token_spent')
  })
})

describe("the owner's token", () => {
  const current = async (): Promise<string> => (await two.ask('GET', '/v1/token')).body.token_id

  it('is rotated: the file holds the new one, every gateway takes it, and the old one has its time', async () => {
    const before = two.owner
    const { body } = await two.ask('POST', `/v1/tokens/${await current()}/rotate`, { overlap: 60 })
    expect(two.owner).toBe(body.token)
    for (const token of [before, body.token]) {
      for (const gateway of [two.here, two.there]) expect((await two.self(token, gateway)).body.kind).toBe('owner')
    }
    const stream = await two.watch(before, two.wire.create())
    const { reason } = await endAfter(stream, () => two.ask('DELETE', `/v1/tokens/${body.rotated_from}`))
    expect(reason).toBe('token_revoked')
    expect((await two.self(body.token, two.there)).status).toBe(200)
  })

  it('that was replaced keeps its time over a restart', async () => {
    const before = two.owner
    await two.ask('POST', `/v1/tokens/${await current()}/rotate`, { overlap: 60 })
    const again = await two.another()
    try {
      expect((await two.self(before, again)).body.kind).toBe('owner')
    } finally {
      await again.running.close()
    }
    expect((await two.self(before)).body.kind).toBe('owner')
  })

  it('stays what it was when its rotation fails after the file was written', async () => {
    const before = two.owner
    await two.database.query(
      "CREATE FUNCTION gateway.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$; CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON gateway.tokens DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION gateway.fail()",
    )
    const { status } = await two.ask('POST', `/v1/tokens/${await current()}/rotate`, {})
    expect(status).toBe(500)
    await waitFor(() => two.owner === before)
    await two.database.query('DROP TRIGGER fail ON gateway.tokens; DROP FUNCTION gateway.fail()')
    expect((await two.self(before)).body.kind).toBe('owner')
  })

  it('in the file before its row, as after a kill between the two, is taken at the next start', async () => {
    const before = two.owner
    const written = mintToken('own', newId('tok').slice(4))
    writeFileSync(two.ownerFile, `${written}\n`)
    const third = await two.another()
    try {
      expect((await two.self(written, third)).body.kind).toBe('owner')
      expect((await two.self(before, third)).body.code).toBe('token_revoked')
      await waitFor(async () => (await two.self(before, two.there)).body.code === 'token_revoked')
    } finally {
      await third.running.close()
    }
  })
})
