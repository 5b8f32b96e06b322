import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../../test/support/svc-command.js'
import { json } from '../../../../../../test/support/wire-server.js'

const id = 'tok_01jd0000000000000000000000'
const token = {
  id,
  kind: 'app',
  label: 'phone',
  app_id: 'app_01jd0000000000000000000000',
  profile: null,
  scopes: ['svc:llm'],
  status: 'active',
  created_at: '2026-01-01T00:00:00.000Z',
  expires_at: '2026-04-01T00:00:00.000Z',
  last_used_at: null,
  revoked_at: null,
  rotated_from: null,
}

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
})
afterAll(() => svc.stop())

describe('svc sys tokens', () => {
  it('list shows whose they are and when they were used last', async () => {
    wire.says(json({ data: [token], next_cursor: 'c', has_more: true }))
    const { out, err } = await svc.run(['sys', 'tokens', 'list', '--app', 'notes', '--status', 'active'])
    expect(wire.only).toMatchObject({ method: 'GET', path: '/v1/tokens?app=notes&status=active' })
    expect(out).toMatch(/tok_\S+\s+app\s+active\s+app_\S+\s+\S+\s+never\s+2026-04-01T00:00\s+phone/)
    expect(err).toContain('--all')
  })

  it('show tells a list of its own from one that follows the grant', async () => {
    wire.says(json(token))
    expect((await svc.run(['sys', 'tokens', 'show', id])).out).toMatch(/scopes +svc:llm\n/)
    wire.says(json({ ...token, scopes: null }))
    expect((await svc.run(['sys', 'tokens', 'show', id])).out).toContain('what the grant of its app holds')
    wire.says(json({ ...token, scopes: [] }))
    expect((await svc.run(['sys', 'tokens', 'show', id])).out).toMatch(/scopes +none\n/)
  })

  it('rotate prints the new one', async () => {
    const next = { ...token, id: id.replace(/0$/, '1'), rotated_from: id, token: 'svc_app_y' }
    wire.says(json(next, 201))
    const { code, out, err } = await svc.run(['sys', 'tokens', 'rotate', id, '--overlap', '1h'])
    expect([code, out]).toEqual([0, 'svc_app_y\n'])
    expect(err).toContain(`${next.id} takes the place of ${id}, which ends in 1h`)
    expect(wire.only).toMatchObject({ method: 'POST', path: `/v1/tokens/${id}/rotate`, body: { overlap: 3600 } })
  })

  it('rotate fails, and says how to go on, when the answer that held it was lost', async () => {
    wire.says(json({ ...token, token: null }, 201))
    const { code, err } = await svc.run(['sys', 'tokens', 'rotate', id])
    expect([code, err]).toEqual([1, expect.stringContaining(`svc sys tokens rotate ${id}`)])
  })

  it('revoke ends it', async () => {
    wire.says((response) => response.writeHead(204).end())
    const { code, out } = await svc.run(['sys', 'tokens', 'revoke', id])
    expect([code, out]).toEqual([0, `${id} is revoked.\n`])
    expect(wire.only).toMatchObject({ method: 'DELETE', path: `/v1/tokens/${id}` })
  })

  it('is no command of an agent', async () => {
    const { code } = await svc.run(['sys', 'tokens', 'list'], { env: { SVC_NODE_ID: 'node_x', SVC_SCOPES: 'svc:act' } })
    expect(code).toBe(6)
  })
})
