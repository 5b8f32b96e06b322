import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json, problem } from '../../../../../test/support/wire-server.js'

const token = 'svc_app_01jd0000000000000000000000_x'
const minted = {
  id: 'tok_01jd0000000000000000000000',
  kind: 'app',
  label: null,
  app_id: 'app_01jd0000000000000000000000',
  scopes: ['svc:llm'],
  status: 'active',
  expires_at: '2026-04-01T00:00:00.000Z',
  token,
}
const access = {
  listen: [],
  base_urls: ['http://127.0.0.1:7420', 'http://192.0.2.7:7430'],
  app_base_url: 'http://127.0.0.1:7421',
  hosts: [],
  origins: ['https://old.example'],
  version: 1,
}

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
})
afterAll(() => svc.stop())

const asked = () => wire.received.map(({ method, path, body }) => [method, path, body])

describe('svc sys connect', () => {
  it("prints the owner's token without options", async () => {
    wire.says(json({}))
    const { code, out } = await svc.run(['sys', 'connect'])
    expect([code, out]).toEqual([0, `export SVC_BASE_URL=${wire.url}\nexport SVC_TOKEN=svc_own_x\n`])
  })
})

describe('svc sys connect --app', () => {
  it('prints the address of the application listener and a new token', async () => {
    wire.says(json(access), json(minted, 201))
    const { code, out, err } = await svc.run([
      'sys',
      'connect',
      '--app',
      'notes',
      '--scopes',
      'svc:llm',
      '--label',
      'x',
    ])
    expect([code, out]).toEqual([0, `export SVC_BASE_URL=http://127.0.0.1:7421\nexport SVC_TOKEN=${token}\n`])
    expect(err).toContain('permits svc:llm; it ends 2026-04-01')
    expect(asked()).toEqual([
      ['GET', '/v1/access', undefined],
      ['POST', '/v1/tokens', { app: 'notes', scopes: ['svc:llm'], label: 'x' }],
    ])
    expect(wire.received[1]?.headers['idempotency-key']).toBeDefined()
  })

  it.each<[string[], object]>([
    [[], {}],
    [['--scopes', ''], { scopes: [] }],
    [['--expires', '12h'], { expires_in: 43_200 }],
    [['--expires', 'never'], { expires_in: null }],
    [
      [
        '--scopes',
        'svc:llm,svc:act, svc:schedule,svc:memory:read:user,svc:memory:read:app,svc:memory:rw:app,svc:files:read:user:/a,svc:files:rw:user:/b c',
      ],
      {
        scopes: [
          'svc:llm',
          'svc:act',
          'svc:schedule',
          'svc:memory:read:user',
          'svc:memory:read:app',
          'svc:memory:rw:app',
          'svc:files:read:user:/a',
          'svc:files:rw:user:/b c',
        ],
      },
    ],
  ])('with %j asks for %j', async (args, body) => {
    wire.says(json(access), json({ ...minted, scopes: null, expires_at: null }, 201))
    const { code, err } = await svc.run(['sys', 'connect', '--app', 'notes', ...args])
    expect(code).toBe(0)
    expect(err).toContain('what the grant of its app holds; it ends when it is revoked')
    expect(wire.received[1]?.body).toEqual({ app: 'notes', ...body })
  })

  it.each([
    'ask',
    'act',
    'schedule',
    'memory:read',
    'memory:write',
    'llm',
    'svc:files:share',
    'svc:memory:manage:user',
    'svc:memory:rw:user',
    'svc:memory:read:app:app_01jd0000000000000000000000',
    'svc:memory:read:user:notes',
    'svc:files:read:user:relative',
    'svc:conversations:read:app:x',
    'github:issues',
    '*',
  ])('takes %j for no scope, and names those that it takes', async (scope) => {
    wire.says(json({}))
    const { code, err } = await svc.run(['sys', 'connect', '--app', 'notes', '--scopes', `svc:llm,${scope}`])
    expect(code).toBe(2)
    expect(err).toContain(`--scopes does not take ${scope}`)
    for (const form of ['svc:llm', 'svc:memory:rw:app', 'svc:files:rw:user:<dir>']) expect(err).toContain(form)
    expect(wire.received).toEqual([])
  })

  it('as JSON says all that is known of the token', async () => {
    wire.says(json(access), json(minted, 201))
    const { out } = await svc.run(['sys', 'connect', '--app', 'notes', '--json'])
    expect(JSON.parse(out)).toEqual({ ...minted, base_url: 'http://127.0.0.1:7421' })
  })

  it('says how to go on when the answer that held the token was lost', async () => {
    wire.says(json(access), json({ ...minted, token: null }, 201))
    const { code, err } = await svc.run(['sys', 'connect', '--app', 'notes'])
    expect(code).toBe(1)
    expect(err).toContain(`svc sys tokens rotate ${minted.id}`)
  })

  it('fails as denied when the grant does not hold what was asked for', async () => {
    wire.says(json(access), problem(403, { code: 'scope_exceeds_ceiling', scopes: ['svc:act'] }))
    expect((await svc.run(['sys', 'connect', '--app', 'notes', '--scopes', 'svc:llm,svc:act'])).code).toBe(6)
  })

  it.each([
    [['--scopes', 'svc:llm']],
    [['--label', 'x']],
    [['--expires', '1d']],
    [['--app', 'a', '--listen', '0.0.0.0:1']],
    [['--app', 'a', '--origin', 'https://a.example']],
    [['--app', 'a', '--expires', 'soon']],
  ])('is not meant by %j', async (args) => {
    wire.says(json(access))
    expect((await svc.run(['sys', 'connect', ...args])).code).toBe(2)
    expect(wire.received.filter(({ method }) => method !== 'GET')).toEqual([])
  })
})

describe('svc sys connect --listen', () => {
  const open = { address: '0.0.0.0:7430', tls: false, state: 'open', detail: 'nothing encrypts what goes there' }

  it('opens the address beside those that are open, and prints how others reach it', async () => {
    const before = { ...access, listen: [{ ...open, address: '127.0.0.1:7440' }] }
    wire.says(json({}), json(before), json({ ...before, listen: [...before.listen, open] }))
    const { code, out, err } = await svc.run(['sys', 'connect', '--listen', '0.0.0.0:7430'])
    expect([code, out.split('\n')[0]]).toEqual([0, 'export SVC_BASE_URL=http://192.0.2.7:7430'])
    expect(err).toContain('nothing encrypts')
    expect(asked()[2]).toEqual(['PATCH', '/v1/access', { listen: ['127.0.0.1:7440', '0.0.0.0:7430'] }])
  })

  it('lets pages of an origin in, beside those that are', async () => {
    wire.says(json({}), json(access))
    const { code, out } = await svc.run(['sys', 'connect', '--origin', 'https://new.example', '--json'])
    expect([code, JSON.parse(out).base_url]).toEqual([0, wire.url])
    expect(asked()[2]).toEqual(['PATCH', '/v1/access', { origins: ['https://old.example', 'https://new.example'] }])
  })

  it('fails with the reason where the address can not be had', async () => {
    wire.says(json({}), json(access), problem(422, { code: 'address_unavailable', detail: 'it is taken' }))
    const { code, err } = await svc.run(['sys', 'connect', '--listen', '0.0.0.0:7430'])
    expect([code, err]).toEqual([1, expect.stringContaining('it is taken')])
  })
})
