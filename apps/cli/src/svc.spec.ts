import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../test/support/svc-command.js'
import { end, events, json, problem, WireServer } from '../../../test/support/wire-server.js'

const id = 'node_01jd0000000000000000000000'
const node = {
  id,
  name: 'count files',
  status: 'active',
  kind: 'general',
  engine: 'exec',
  created_at: '2026-01-01T00:00:00.000Z',
}

describe('svc', () => {
  let svc: SvcCommand
  let wire: SvcCommand['wire']
  let dataDir: string

  beforeAll(async () => {
    svc = await SvcCommand.start()
    wire = svc.wire
    dataDir = svc.dataDir
  })
  afterAll(() => svc.stop())

  it.each<[string[], string, string, unknown]>([
    [['node', 'list', '--status', 'active', '--limit', '5'], 'GET', '/v1/nodes?status=active&limit=5', undefined],
    [['node', 'show', id], 'GET', `/v1/nodes/${id}`, undefined],
    [
      ['node', 'message', id, 'hi', '--tier', 'urgent'],
      'POST',
      `/v1/nodes/${id}/message`,
      { body: 'hi', tier: 'urgent' },
    ],
    [['node', 'interrupt', id], 'POST', `/v1/nodes/${id}/interrupt`, undefined],
    [['node', 'cancel', id], 'POST', `/v1/nodes/${id}/cancel`, undefined],
    [['node', 'outcome', id], 'GET', `/v1/nodes/${id}/outcome`, undefined],
    [['node', 'reports', id], 'GET', `/v1/nodes/${id}/reports`, undefined],
    [['node', 'events', id, '--after', '3'], 'GET', `/v1/nodes/${id}/events?after=3`, undefined],
    [['node', 'result', '{"n":1}', '--id', id], 'POST', `/v1/nodes/${id}/result`, { value: { n: 1 } }],
    [['model', 'list'], 'GET', '/v1/model-auth', undefined],
    [['model', 'status'], 'GET', '/v1/model-auth/readiness', undefined],
    [['model', 'config', '{"limits":{}}'], 'PUT', '/v1/model-config', { limits: {} }],
    [['sys', 'status'], 'GET', '/v1/status', undefined],
    [['request', 'post', '/v1/x', '{"a":1}'], 'POST', '/v1/x', { a: 1 }],
  ])('%j is %s %s', async (args, method, path, body) => {
    wire.says(json({ data: [], next_cursor: null, has_more: false }))
    const { code, out } = await svc.run([...args, '--json'])
    expect(code).toBe(0)
    if (out) expect(JSON.parse(out)).toEqual({ data: [], next_cursor: null, has_more: false })
    expect(wire.only).toMatchObject({ method, path })
    expect(wire.only.body).toEqual(body)
  })

  it('prints one record a line where many come', async () => {
    wire.says(
      json({ data: [{ n: 1 }], next_cursor: 'c', has_more: true }),
      json({ data: [{ n: 2 }], next_cursor: null, has_more: false }),
    )
    expect((await svc.run(['node', 'list', '--all', '--json'])).out).toBe('{"n":1}\n{"n":2}\n')
    wire.says(events([{ id: '1', event: 'a', data: { seq: 1 } }, end]))
    expect((await svc.run(['node', 'events', id, '--follow', '--json'])).out).toBe('{"seq":1}\n')
  })

  describe('a failure', () => {
    it.each([
      [404, 'not_found', 3],
      [409, 'illegal_transition', 4],
      [412, 'precondition_failed', 4],
      [401, 'token_invalid', 6],
      [403, 'scope_missing', 6],
      [422, 'validation_failed', 1],
      [503, 'model_not_configured', 5],
      [402, 'budget_exhausted', 1],
    ])('%i %s exits with its code and says what to do', async (status, code, exit) => {
      wire.says(
        problem(status, { code, detail: 'no', retryable: false, errors: [{ pointer: '/a', message: 'is wrong' }] }),
      )
      const ran = await svc.run(['node', 'show', id])
      expect(ran.code).toBe(exit)
      expect(ran.out).toBe('')
      expect(ran.err).toMatch(
        new RegExp(`^error: no \\(${code}\\)\\n {2}/a: is wrong\\n {2}what to do: .+\\n {2}request id: req-1\\n$`),
      )
    })

    it('is JSON with --json', async () => {
      wire.says(problem(404, { code: 'not_found', detail: 'no' }))
      const { code, err } = await svc.run(['node', 'show', id, '--json'])
      expect(code).toBe(3)
      expect(JSON.parse(err)).toMatchObject({ code: 'not_found', detail: 'no', request_id: 'req-1' })
    })

    it('says how to start a daemon that is not there', async () => {
      const { code, err } = await svc.run(['node', 'list'], { env: { SVC_BASE_URL: 'http://127.0.0.1:9' } })
      expect(code).toBe(5)
      expect(err).toContain('svc sys up')
    })

    it('is usage for what is no identifier', async () => {
      wire.says(json(node))
      expect((await svc.run(['node', 'show', 'x'])).code).toBe(2)
      expect(wire.received).toHaveLength(0)
    })
  })

  describe('connection', () => {
    const owners = { SVC_BASE_URL: '', SVC_TOKEN: '' }

    beforeAll(() => {
      mkdirSync(join(dataDir, 'run'), { recursive: true })
      writeFileSync(join(dataDir, 'owner.token'), 'svc_own_local\n')
      writeFileSync(join(dataDir, 'run/daemon.json'), JSON.stringify({ pid: 1, base_url: wire.url, version: '0' }))
    })

    it("takes the local daemon's address and the owner's token", async () => {
      wire.says(json({}))
      expect((await svc.run(['sys', 'connect', '--json'], { env: owners })).out).toBe(
        `${JSON.stringify({ base_url: wire.url, token: 'svc_own_local' }, null, 2)}\n`,
      )
      expect(wire.only.headers.authorization).toBe('Bearer svc_own_local')
    })

    it("sends the owner's token nowhere else, and not for an agent", async () => {
      const other = (await WireServer.start()).says(json(node))
      await svc.run(['node', 'show', id, '--base-url', other.url], { env: owners })
      expect(other.only.headers.authorization).toBeUndefined()
      await other.stop()
      wire.says(json(node))
      await svc.run(['node', 'show', id], { env: { ...owners, SVC_NODE_ID: id } })
      expect(wire.only.headers.authorization).toBeUndefined()
    })
  })

  it('has examples in every help, and completions for both shells', async () => {
    for (const args of [['node', 'new'], ['push'], ['model', 'add'], ['sys', 'down'], ['request']]) {
      const { code, out } = await svc.run([...args, '--help'])
      expect(code).toBe(0)
      expect(out).toContain('Examples:')
    }
    const { out } = await svc.run(['completion', 'bash'])
    expect(out).toContain('"svc node new") offered=')
    expect((await svc.run(['completion', 'zsh'])).out).toContain('bashcompinit')
  })
})
