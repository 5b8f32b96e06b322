import { createHash } from 'node:crypto'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { trusted, well } from '../../../../../test/support/doctor-answers.js'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json } from '../../../../../test/support/wire-server.js'

interface Finding {
  readonly name: string
  readonly state: string
  readonly detail: string
  readonly remedy?: string
}

const token = (more: object) => ({ kind: 'app', label: null, expires_at: '2027-01-01T00:00:00.000Z', ...more })
const app = (name: string, tokens: number, status = 'active') => ({ name, tokens, grant: { status } })
const pageOf = (data: unknown[]) => ({ data, next_cursor: null, has_more: false })
const access = (more: object) => ({ '/v1/access': { ...(trusted['/v1/access'] as object), ...more } })

describe('svc sys doctor, on who may do what', () => {
  let svc: SvcCommand

  beforeAll(async () => {
    svc = await SvcCommand.start()
  })
  afterAll(() => svc.stop())

  const found = async (answers: Record<string, unknown> = {}): Promise<(name: string) => Finding | undefined> => {
    const all: Record<string, unknown> = { ...well, ...answers }
    svc.wire.says((response, request) =>
      json(all[request.path] ?? all[request.path.split('?')[0] as string])(response, request),
    )
    const { findings } = JSON.parse((await svc.run(['sys', 'doctor', '--json'])).out) as { findings: Finding[] }
    return (wanted) => findings.find(({ name }) => name === wanted)
  }

  it('finds nothing where there is nothing', async () => {
    const of = await found()
    expect(of('listeners')).toEqual({ name: 'listeners', state: 'ok', detail: 'this machine alone is answered' })
    expect(of('tokens')).toMatchObject({ state: 'ok', detail: '0 of apps work, 0 have expired' })
    expect(of('apps')).toBeUndefined()
  })

  it("finds a file of a token that others can read: the owner's, and one that SVC_TOKEN_FILE names", async () => {
    const path = join(svc.dataDir, 'owner.token')
    writeFileSync(path, 'svc_own_x', { mode: 0o600 })
    expect((await found())('token files')).toMatchObject({ state: 'ok' })
    chmodSync(path, 0o640)
    const { state, detail, remedy } = (await found())('token files') ?? {}
    expect([state, detail]).toEqual(['fail', expect.stringContaining('(mode 640)')])
    expect(remedy).toContain(`chmod 600 ${path}`)
    chmodSync(path, 0o600)
    const named = join(svc.dataDir, 'mine')
    writeFileSync(named, 'svc_own_x', { mode: 0o600 })
    chmodSync(named, 0o604)
    const { out } = await svc.run(['sys', 'doctor'], { env: { SVC_TOKEN_FILE: named } })
    expect(out).toMatch(/✗ token files +\S+mine can be read by others \(mode 604\)/)
  })

  it('finds addresses beyond this machine without TLS, of both listeners, and one that did not open', async () => {
    const listen = [{ address: '0.0.0.0:7430', tls: false, state: 'open', detail: 'unencrypted' }]
    const base_urls = ['http://127.0.0.1:7420', 'http://192.0.2.7:7430']
    const plain = (await found(access({ listen, base_urls })))('listeners')
    expect(plain).toMatchObject({ state: 'warn', detail: expect.stringContaining('http://192.0.2.7:7430') })
    const apps = (await found(access({ app_base_url: 'http://192.0.2.7:7421' })))('listeners')
    expect(apps).toMatchObject({ state: 'warn', detail: expect.stringContaining('http://192.0.2.7:7421') })
    const tls = [{ ...listen[0], tls: true, detail: null }]
    expect((await found(access({ listen: tls, base_urls: ['https://192.0.2.7:7430'] })))('listeners')).toMatchObject({
      state: 'ok',
    })
    const failed = [{ ...listen[0], state: 'failed', detail: 'the port is taken' }]
    expect((await found(access({ listen: failed })))('listeners')).toMatchObject({
      state: 'warn',
      detail: '0.0.0.0:7430 is not open: the port is taken',
    })
  })

  it('finds tokens that never expire, counts those that have, and leaves the one of the owner out', async () => {
    const own = token({ kind: 'own', id: 'tok_own', expires_at: null })
    const active = [own, token({ id: 'tok_1' }), token({ id: 'tok_2', expires_at: null, label: 'the cron' })]
    const of = await found({
      '/v1/tokens?status=active&limit=200': pageOf(active),
      '/v1/tokens?status=expired&limit=200': pageOf([token({ id: 'tok_0' })]),
    })
    expect(of('tokens')).toMatchObject({
      state: 'warn',
      detail: '2 of apps work, 1 have expired; 1 never expire: the cron',
      remedy: expect.stringContaining('svc sys tokens revoke'),
    })
  })

  it('finds a line of the audit log that was changed, or is missing, among the newest', async () => {
    const lines: { seq: number; hash: string; what?: string }[] = []
    for (let seq = 1; seq <= 250; seq += 1) {
      const before = Buffer.from(lines.at(-1)?.hash ?? '0'.repeat(64), 'hex')
      const hash = createHash('sha256').update(before).update(`{"seq":${seq}}`).digest('hex')
      lines.push({ seq, hash })
    }
    const anchor = { seq: 0, hash: '0'.repeat(64) }
    const of = async (kept: typeof lines) => {
      const log = { ...pageOf([]), anchor, head: lines.at(-1) }
      return (
        await found({
          '/v1/audit?limit=1': log,
          '/v1/audit?order=oldest&limit=200&since_seq=50': { ...log, data: kept.filter(({ seq }) => seq > 50) },
        })
      )('audit')
    }
    expect(await of(lines)).toEqual({ name: 'audit', state: 'ok', detail: 'the newest 199 lines hold' })
    expect(await of(lines.map((line) => (line.seq === 70 ? { ...line, what: 'else' } : line)))).toMatchObject({
      state: 'fail',
      detail: 'line 70 was changed or taken out after it was written',
    })
    expect(await of(lines.filter(({ seq }) => seq !== 80))).toMatchObject({ state: 'fail' })
  })

  it('finds apps without a token that works, those that may do nothing left out', async () => {
    const apps = [app('notes', 1), app('old', 0), app('gone', 0, 'revoked')]
    expect((await found({ '/v1/apps': pageOf(apps) }))('apps')).toMatchObject({
      state: 'warn',
      detail: 'no token works for old',
    })
    expect((await found({ '/v1/apps': pageOf([app('notes', 2)]) }))('apps')).toMatchObject({ state: 'ok' })
  })

  it('finds receivers that take no more, and says where to look', async () => {
    const status = (detail: string | null) => {
      const { parts, ...rest } = well['/v1/status'] as { parts: unknown[] }
      const objects = { name: 'objects', state: detail ? 'degraded' : 'ready', detail, version: '0.1.0' }
      return { '/v1/status': { ...rest, parts: [...parts, objects] } }
    }
    expect((await found(status(null)))('objects')).toBeUndefined()
    expect((await found(status('Deliveries that were given up: 2.')))('objects')).toEqual({
      name: 'objects',
      state: 'warn',
      detail: 'Deliveries that were given up: 2.',
      // attention knows nothing of a full queue
      remedy: expect.stringMatching(
        /^svc ledger --kind delivery says which and why, svc custom-object show <ref> how much waits; then svc custom-object replay/,
      ),
    })
  })

  it('finds Redis that may drop timers, and says what to set', async () => {
    const status = (detail: string | null) => {
      const { parts, ...rest } = well['/v1/status'] as { parts: unknown[] }
      const scheduler = { name: 'scheduler', state: detail ? 'degraded' : 'ready', detail, version: '0.1.0' }
      return { '/v1/status': { ...rest, parts: [...parts, scheduler] } }
    }
    expect((await found(status(null)))('scheduler')).toBeUndefined()
    expect((await found(status('Redis drops timers')))('scheduler')).toEqual({
      name: 'scheduler',
      state: 'warn',
      detail: 'Redis drops timers',
      remedy: expect.stringContaining('maxmemory-policy noeviction'),
    })
  })
})
