import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { empty, json } from '../../../../../test/support/wire-server.js'

const grant = {
  app_id: 'app_01jd0000000000000000000000',
  user_id: 'owner',
  scopes: ['svc:act', 'svc:llm'],
  profiles: null as string[] | null,
  version: 3,
  status: 'active',
  updated_at: '2026-01-01T00:00:00.000Z',
}
const app = {
  id: grant.app_id,
  name: 'notes',
  description: null,
  origins: ['https://notes.example'],
  grant,
  tokens: 2,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
}

describe('svc app', () => {
  let svc: SvcCommand
  let wire: SvcCommand['wire']

  beforeAll(async () => {
    svc = await SvcCommand.start()
    wire = svc.wire
  })
  afterAll(() => svc.stop())

  describe('app add', () => {
    it('sends what was said, scopes in one argument or in several', async () => {
      wire.says(json(app))
      const scopes = ['svc:llm,svc:act', 'svc:files:rw:user:/srv/a,b']
      const { code, out } = await svc.run([
        'app',
        'add',
        'notes',
        '--scopes',
        ...scopes,
        '--origin',
        'https://n.example',
      ])
      expect(code).toBe(0)
      expect(wire.only).toMatchObject({
        method: 'POST',
        path: '/v1/apps',
        body: {
          name: 'notes',
          origins: ['https://n.example'],
          scopes: ['svc:llm', 'svc:act', 'svc:files:rw:user:/srv/a,b'],
        },
      })
      expect(out).toMatch(
        /^id +app_01jd.*\nname +notes\norigins +https:\/\/notes.example\ngrant +svc:act svc:llm\nversion +3, /m,
      )
    })
  })

  describe('app list', () => {
    it('is a table of names and grants', async () => {
      const revoked = { ...app, name: 'old', grant: { ...grant, status: 'revoked' } }
      wire.says(json({ data: [app, revoked], next_cursor: null, has_more: false }))
      const { out } = await svc.run(['app', 'list'])
      expect(out).toMatch(/^NAME +ID +TOKENS +AGE +GRANT\nnotes +app_\w+ +2 +\S+ +svc:act svc:llm\nold .* revoked\n$/)
    })

    it('says how to begin where there is none', async () => {
      wire.says(json({ data: [], next_cursor: null, has_more: false }))
      expect(await svc.run(['app', 'list'])).toMatchObject({ out: '', err: expect.stringContaining('svc app add') })
    })
  })

  describe('app grant', () => {
    const sent = async (held: Partial<typeof grant>, ...args: string[]) => {
      wire.says(json({ ...app, grant: { ...grant, ...held } }), json(grant))
      const { code, err } = await svc.run(['app', 'grant', 'notes', ...args])
      return { code, err, put: wire.received[1] }
    }

    it.each([
      [['svc:llm'], ['svc:llm']],
      [
        ['--add', 'svc:schedule'],
        ['svc:act', 'svc:llm', 'svc:schedule'],
      ],
      [['--drop', 'svc:act'], ['svc:llm']],
      [
        ['--drop', 'svc:act', '--add', 'svc:schedule'],
        ['svc:llm', 'svc:schedule'],
      ],
      [['--nothing'], []],
    ])('%j sets the whole list, on the version that was read', async (args, scopes) => {
      const { code, put } = await sent({}, ...args)
      expect(code).toBe(0)
      expect(put).toMatchObject({
        method: 'PUT',
        path: `/v1/apps/${grant.app_id}/grant`,
        body: { scopes, profiles: null, if_match: 3 },
      })
    })

    it('gives back what was revoked, as it was, profiles and all', async () => {
      const { put } = await sent({ status: 'revoked', profiles: ['work'] })
      expect(put?.body).toEqual({ scopes: grant.scopes, profiles: ['work'], if_match: 3 })
    })

    it.each([
      [[], 'which scopes?'],
      [['svc:llm', '--nothing'], 'name the whole list'],
      [['--drop', 'svc:schedule'], 'does not hold svc:schedule'],
    ])('%j is a usage error', async (args, says) => {
      const { code, err, put } = await sent({}, ...args)
      expect([code, put]).toEqual([2, undefined])
      expect(err).toContain(says)
    })
  })

  it('app set changes what is named, and takes away by an empty text', async () => {
    wire.says(json(app))
    await svc.run(['app', 'set', 'notes', '--description', '', '--no-origin'])
    expect(wire.only).toMatchObject({
      method: 'PATCH',
      path: '/v1/apps/notes',
      body: { description: null, origins: [] },
    })
    wire.says(json(app))
    await svc.run(['app', 'set', 'notes', '--name', 'journal'])
    expect(wire.only.body).toEqual({ name: 'journal' })
    expect((await svc.run(['app', 'set', 'notes'])).code).toBe(2)
  })

  it('app revoke and app remove say what is next', async () => {
    wire.says(json({ ...grant, status: 'revoked' }))
    expect((await svc.run(['app', 'revoke', 'notes'])).out).toContain('svc app grant notes')
    wire.says(empty())
    expect((await svc.run(['app', 'remove', 'notes'])).out).toBe('notes is removed.\n')
    expect(wire.only).toMatchObject({ method: 'DELETE', path: '/v1/apps/notes' })
  })

  it('is not for agents in nodes', async () => {
    const { code, err } = await svc.run(['app', 'list'], {
      env: { SVC_NODE_ID: 'node_01jd0000000000000000000000', SVC_SCOPES: 'svc:llm' },
    })
    expect([code, err]).toEqual([6, expect.stringContaining('owner_required')])
  })
})
