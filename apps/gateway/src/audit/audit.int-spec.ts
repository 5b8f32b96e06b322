import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { AuditEntry, AuditPage } from '#common/contract/audit.operations.js'
import { systemClock } from '#common/kernel/clock.js'
import { SvcError } from '#common/kernel/errors.js'
import { testDatabase } from '#common/testing/database.js'
import { testNats } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { brokenAt } from '../testing/audit-chain.fixture.js'
import { type Asking, type OwnDatabase, TestGateway } from '../testing/gateway.fixture.js'
import { WireLifecycle } from '../testing/wire-lifecycle.fixture.js'
import { AuditLog } from './audit.log.js'
import { AuditRepository } from './audit.repository.js'
import { AuditRetention } from './audit.retention.js'

let wire: WireLifecycle
let database: OwnDatabase
let one: TestGateway
let two: TestGateway
let node: string

beforeAll(async () => {
  const { url } = testNats()
  wire = await WireLifecycle.start(url)
  database = await testDatabase()
  one = await TestGateway.start(url, database)
  const { SVC_DATA_DIR: directory } = one.settings
  const shared = { ...database, drop: async () => undefined }
  two = await TestGateway.start(url, shared, {
    SVC_NODE_TOKEN_KEY_FILE: join(directory, 'keys/node-token.key'),
    SVC_OWNER_TOKEN_FILE: join(directory, 'owner.token'),
  })
  node = wire.create()
})

afterAll(async () => {
  await two?.stop()
  await one?.stop()
  await wire?.stop()
})

const page = async (query: string): Promise<AuditPage> =>
  (await one.ask({ path: `/v1/audit?limit=200&${query}` })).body as AuditPage

const everything = async (): Promise<{ lines: AuditEntry[]; ends: AuditPage }> => {
  const lines: AuditEntry[] = []
  for (let after = ''; ; ) {
    const ends = await page(`order=oldest${after}`)
    lines.push(...ends.data)
    if (ends.next_cursor === null) return { lines, ends }
    after = `&after=${ends.next_cursor}`
  }
}

/** The lines of a request, once they are written. */
const linesOf = (requestId: string, query = '') =>
  waitFor(
    async () => {
      const { data } = await page(query)
      const found = data.filter(({ request_id }) => request_id === requestId)
      return found.length > 0 && found
    },
    { what: `the line of ${requestId}` },
  )

const pane = '/v1/focuses/%251'
const change: Asking = { method: 'PUT', path: pane, body: { node_id: 'node_01jd0000000000000000000000' } }
const look: Asking = { path: '/v1/focuses' }
const tagged = (id: string, asking: Asking): Asking => ({
  ...asking,
  headers: { ...asking.headers, 'x-request-id': id },
})

describe('what the owner changes', () => {
  it('stands in the log before it is begun', async () => {
    let seen: unknown[] = []
    wire.answers['focuses.set'] = async () => {
      seen = await database.query("SELECT decision FROM gateway.audit WHERE request_id = 'change-1'")
      return {}
    }
    expect((await one.ask(tagged('change-1', change))).status).toBe(200)
    // a look opens a connection: two hundred at once are more than the server has
    delete wire.answers['focuses.set']
    expect(seen).toEqual([{ decision: 'allowed' }])
    const [line] = await linesOf('change-1')
    expect(line).toMatchObject({
      actor: { kind: 'owner', principal: 'owner', token_id: expect.stringMatching(/^tok_/) },
      operation: 'focuses.set',
      resource: pane,
      decision: 'allowed',
      code: null,
      listener: 'owner',
      remote: '127.0.0.1',
      repeated: 1,
    })
  })

  it('is not done when the log can’t be written, and says why; reads go on', async () => {
    const asked = () => wire.asks('focuses.set').length
    const before = asked()
    await database.query('ALTER TABLE gateway.audit_head RENAME TO audit_head_away')
    const { status, body } = await one.ask(change)
    expect([status, body.code, body.service, body.retryable]).toEqual([503, 'service_unavailable', 'audit', true])
    expect(body.detail).toMatch(/audit log/)
    expect(asked()).toBe(before)
    expect((await one.ask(tagged('read-away', look))).status).toBe(200)
    await database.query('ALTER TABLE gateway.audit_head_away RENAME TO audit_head')
    expect((await one.ask(change)).status).toBe(200)
    expect(await linesOf('read-away')).toHaveLength(1)
  })

  it('is told without being waited for where it is done once for each delivery, alike ones in few lines', async () => {
    const ack = { method: 'POST', path: '/v1/custom-objects/builds/ack', body: { ids: [`dlv_${'0'.repeat(26)}`] } }
    await database.query('ALTER TABLE gateway.audit_head RENAME TO audit_head_away')
    const answers = await Promise.all(Array.from({ length: 50 }, () => one.ask(ack)))
    await database.query('ALTER TABLE gateway.audit_head_away RENAME TO audit_head')
    // the service is not there, and was asked all the same
    expect(new Set(answers.map(({ body }) => body.service))).toEqual(new Set(['objects']))
    const lines = await waitFor(async () => {
      const { data } = await page('operation=customObjects.ack')
      return data.reduce((sum, { repeated }) => sum + repeated, 0) === 50 && data
    })
    expect(lines.length).toBeLessThan(5)
  })

  it('stays one chain over two gateways in a burst', async () => {
    const before = await page('order=newest')
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, at) => (at % 2 ? one : two).ask({ ...change, token: one.token })),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(200).fill(200))
    const { lines, ends } = await everything()
    expect(ends.head.seq - before.head.seq).toBeGreaterThanOrEqual(200)
    expect(brokenAt(lines, ends)).toBeUndefined()
  })

  it('costs few commits when much of it comes at once', async () => {
    const before = await page('order=newest')
    const line = { ...(before.data[0] as AuditEntry), at: systemClock.now() }
    const logs = [one, two].map((gateway) => gateway.running.app.get(AuditLog))
    await Promise.all(Array.from({ length: 200 }, (_, at) => logs[at % 2]?.append(line)))
    const { ends } = await everything()
    expect(ends.head.seq - before.head.seq).toBeGreaterThanOrEqual(200)
    // lines of one transaction carry its number
    const commits = await database.query(`SELECT DISTINCT xmin::text FROM gateway.audit WHERE seq > ${before.head.seq}`)
    expect(commits.length).toBeLessThan(20)
  })
})

describe('what the owner reads', () => {
  it('is told soon after, alike ones together', async () => {
    for (let at = 0; at < 5; at += 1) await two.ask(tagged('look', { ...look, token: one.token }))
    const times = await waitFor(async () => {
      const lines = await linesOf('look', 'operation=focuses.list')
      const sum = lines.reduce((total, { repeated }) => total + repeated, 0)
      return sum === 5 && lines.length
    })
    expect(times).toBeLessThan(5)
  })

  it('is no matter of the log where its gate is open to others too', async () => {
    await one.ask(tagged('plain', { path: `/v1/nodes/${node}` }))
    await one.ask(tagged('after-plain', change))
    await linesOf('after-plain')
    expect((await page('')).data.filter(({ request_id }) => request_id === 'plain')).toEqual([])
  })
})

describe('a refusal', () => {
  const app = () => one.listeners.addresses.app
  const refusals: [string, () => Asking, Partial<AuditEntry>][] = [
    [
      'without token',
      () => ({ path: '/v1/nodes', token: undefined }),
      { code: 'token_missing', operation: 'nodes.list' },
    ],
    ['with a wrong token', () => ({ path: '/v1/nodes', token: 'svc_own_nonsense' }), { code: 'token_invalid' }],
    [
      'of what is the owner’s',
      () => ({ method: 'DELETE', path: '/v1/model-auth/openai', token: one.nodeToken(node) }),
      { code: 'owner_required', operation: 'models.credentials.remove', resource: '/v1/model-auth/openai' },
    ],
    [
      'for a scope',
      () => ({
        method: 'POST',
        path: `/v1/nodes/${node}/message`,
        body: {},
        token: one.nodeToken(wire.create(undefined, [])),
      }),
      { code: 'scope_missing' },
    ],
    ['of another host', () => ({ path: '/v1/nodes', headers: { host: 'evil.example' } }), { code: 'host_forbidden' }],
    [
      'at the other listener',
      () => ({ path: '/v1/nodes', base: app() }),
      { code: 'listener_forbidden', listener: 'app' },
    ],
  ]
  it.each(refusals)('%s is told within a moment', async (name, asking, expected) => {
    const id = `refused-${name.replaceAll(/\W/g, '-')}`
    const { status } = await one.ask(tagged(id, asking()))
    const answered = performance.now()
    expect([401, 403]).toContain(status)
    const [line] = await linesOf(id, 'decision=denied')
    expect(performance.now() - answered).toBeLessThan(700)
    expect(line).toMatchObject({ decision: 'denied', ...expected })
  })

  it('by the service behind is told too, with who it was', async () => {
    wire.answers['nodes.interrupt'] = () => {
      throw new SvcError('path_outside_scope')
    }
    const token = one.nodeToken(node)
    await one.ask(tagged('behind', { method: 'POST', path: `/v1/nodes/${node}/interrupt`, body: {}, token }))
    const [line] = await linesOf('behind', `principal=node:${node}`)
    expect(line).toMatchObject({
      actor: { kind: 'node', principal: `node:${node}` },
      operation: 'nodes.interrupt',
      decision: 'denied',
      code: 'path_outside_scope',
    })
  })

  it('holds no query, no token, and no more of a long path than tells which it was', async () => {
    const path = `/v1/nodes/${one.token}/${encodeURIComponent(encodeURIComponent(one.token))}/${'x'.repeat(39)}?key=secret`
    await one.ask(
      tagged(one.token.slice(0, 80), { method: 'POST', path: path.replace(/\/x+\?/, '?'), token: undefined }),
    )
    await one.ask(tagged('with-secret', { path: `/v1/nodes/${one.token}?key=hidden`, token: undefined }))
    const [line] = await linesOf('with-secret')
    expect(line?.resource).toBe('/v1/nodes/[secret]')
    const rows = await database.query<{ row: string }>('SELECT a::text AS row FROM gateway.audit a')
    expect(rows.map(({ row }) => row).join()).not.toMatch(/hidden|key=|svc_own_\w{20}/)
  })

  it('repeated by a flood takes few lines, and none is forgotten', async () => {
    const ask = () => one.ask({ path: '/v1/focuses', token: one.nodeToken(node) })
    for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 50 }, ask))
    const lines = await waitFor(async () => {
      const { data } = await page('decision=denied&operation=focuses.list')
      return data.reduce((sum, { repeated }) => sum + repeated, 0) === 500 && data
    })
    expect(lines.length).toBeLessThan(8)
  })

  it('by a flood that never asks the same takes few lines too', async () => {
    const { head } = await page('')
    for (let round = 0; round < 10; round += 1)
      await Promise.all(
        Array.from({ length: 50 }, (_, at) => one.ask({ path: `/v1/nodes/n-${round}-${at}`, token: undefined })),
      )
    const lines = await waitFor(async () => {
      const rows = await database.query<{ repeated: number }>(
        `SELECT repeated FROM gateway.audit WHERE code = 'token_missing' AND seq > ${head.seq}`,
      )
      return rows.reduce((sum, { repeated }) => sum + repeated, 0) === 500 && rows
    })
    expect(lines.length).toBeLessThan(130)
  })
})

describe('the log', () => {
  it('is the owner’s to read, page by page in both directions', async () => {
    const { lines } = await everything()
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, at) => at + 1))
    const newest = (await one.ask({ path: '/v1/audit?limit=3' })).body as AuditPage
    const second = (await one.ask({ path: `/v1/audit?limit=3&after=${newest.next_cursor}` })).body as AuditPage
    expect(second.data[0]?.seq).toBe((newest.data[2]?.seq ?? 0) - 1)
    const later = await page(`order=oldest&since_seq=${lines[9]?.seq}`)
    expect(later.data[0]?.seq).toBe(11)
    expect((await one.ask({ path: '/v1/audit', token: one.nodeToken(node) })).body.code).toBe('owner_required')
    const ofAnotherList = Buffer.from(`1.${node}`).toString('base64url')
    for (const after of ['nonsense', ofAnotherList])
      expect((await one.ask({ path: `/v1/audit?after=${after}` })).body.code).toBe('validation_failed')
    expect((await one.ask({ path: `/v1/audit?since_seq=${Number.MAX_SAFE_INTEGER}` })).body.data).toEqual([])
  })

  it('is not changed, not shortened, not emptied', async () => {
    const refused = (sql: string) => expect(database.query(sql)).rejects.toMatchObject({ code: 'SV002' })
    await refused("UPDATE gateway.audit SET principal = 'somebody' WHERE seq = 1")
    await refused('DELETE FROM gateway.audit WHERE seq = (SELECT max(seq) FROM gateway.audit)')
    await refused('TRUNCATE gateway.audit')
    await refused('UPDATE gateway.audit_head SET seq = 0')
    await refused('DELETE FROM gateway.audit_head')
  })

  it('shows where a line was changed past the triggers', async () => {
    const { lines, ends } = await everything()
    const changed = lines.map((line) =>
      line.seq === 7 ? { ...line, principal: 'somebody', remote: '10.0.0.1' } : line,
    )
    expect(brokenAt(changed, ends)).toBe(7)
    expect(
      brokenAt(
        lines.filter(({ seq }) => seq !== 5),
        ends,
      ),
    ).toBe(6)
    expect(brokenAt(lines.slice(0, -1), ends)).toBe(lines.at(-1)?.seq)
  })

  it('loses its oldest lines to time alone, and what is left can be checked', async () => {
    const log = one.running.app.get(AuditLog)
    const { data } = await page('order=newest')
    const { seq, hash, at, ...line } = data[0] as AuditEntry
    const year = 366 * 24 * 60 * 60_000
    await log.append({ ...line, at: Date.parse(at) - year })
    const retention = one.running.app.get(AuditRetention)
    // that one waits for the younger ones before it
    expect(await retention.clear()).toBe(0)
    const fresh = await testDatabase()
    const third = await TestGateway.start(testNats().url, fresh)
    // what the start itself said is younger, and goes first
    expect(await third.running.app.get(AuditRepository).prune(systemClock.now() + 1)).toBe(1)
    const old = third.running.app.get(AuditLog)
    for (let day = 0; day < 3; day += 1) await old.append({ ...line, at: Date.parse(at) - year })
    await old.append({ ...line, at: Date.parse(at) })
    expect(await third.running.app.get(AuditRetention).clear()).toBe(3)
    const left = (await third.ask({ path: '/v1/audit?order=oldest' })).body as AuditPage
    expect(left.anchor.seq).toBe(4)
    expect(left.data[0]?.seq).toBe(5)
    expect(brokenAt(left.data, left)).toBeUndefined()
    await third.stop()
  })

  it('has what was noted just before a stop', async () => {
    const fresh = await testDatabase()
    const third = await TestGateway.start(testNats().url, { ...fresh, drop: async () => undefined })
    await third.ask(tagged('last-word', { path: '/v1/nodes', token: undefined }))
    await third.stop()
    expect(await fresh.query("SELECT 1 FROM gateway.audit WHERE request_id = 'last-word'")).toHaveLength(1)
    await fresh.drop()
  })
})
