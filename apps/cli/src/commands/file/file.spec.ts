import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json } from '../../../../../test/support/wire-server.js'

const state = { path: '/srv/a', size: 8, mtime: '2026-01-01T00:00:00.000Z', etag: 'e1' }
const piece = (content: string, offset: number, next_offset: number | null) => ({
  ...state,
  encoding: 'utf8',
  content,
  offset,
  next_offset,
  truncated: next_offset !== null,
})

describe('svc file', () => {
  let svc: SvcCommand
  let wire: SvcCommand['wire']

  beforeAll(async () => {
    svc = await SvcCommand.start()
    wire = svc.wire
  })
  afterAll(() => svc.stop())

  describe('file read', () => {
    it('prints a piece as it is, and says where the next one begins', async () => {
      wire.says(json(piece('one\n', 0, 4)))
      const { code, out, err } = await svc.run(['file', 'read', '/srv/a', '--limit', '4'])
      expect([code, out]).toEqual([0, 'one\n'])
      expect(err).toContain('--offset 4')
      expect(wire.only).toMatchObject({ method: 'GET', path: '/v1/files/peek?path=%2Fsrv%2Fa&offset=0&limit=4' })
    })

    it('prints a whole file piece by piece, bytes as bytes', async () => {
      wire.says(
        json(piece('one\n', 0, 4)),
        json({ ...piece('', 4, null), content: undefined, encoding: 'base64', base64: '/wD+' }),
      )
      const { out } = await svc.run(['file', 'read', '--all', '/srv/a'])
      expect(out).toBe('one\n\ufffd\u0000\ufffd')
      expect(wire.received.map(({ path }) => path)).toEqual([
        '/v1/files/peek?path=%2Fsrv%2Fa&offset=0',
        '/v1/files/peek?path=%2Fsrv%2Fa&offset=4',
      ])
    })

    it('counts a path from where it is called', async () => {
      wire.says(json(piece('', 0, null)))
      await svc.run(['file', 'read', 'sub/../a'])
      expect(wire.only.path).toContain(`path=${encodeURIComponent(`${svc.dataDir}/a`)}&`)
    })
  })

  describe('file write', () => {
    it('sends standard input, or a text, with the conditions that it goes by', async () => {
      wire.says(json({ ...state, created: true }))
      const { out } = await svc.run(['file', 'write', '/srv/a', '--if-match', 'e0'], { input: 'two\n' })
      expect(out).toBe('created /srv/a (8 bytes)\n')
      expect(wire.only).toMatchObject({
        method: 'POST',
        path: '/v1/files/write',
        body: { path: '/srv/a', content: 'two\n', if_match: 'e0' },
      })
      wire.says(json({ ...state, created: false }))
      await svc.run(['file', 'write', '/srv/a', 'text', '--create-only', '--parents'])
      expect(wire.only.body).toEqual({ path: '/srv/a', content: 'text', create_only: true, parents: true })
    })
  })

  describe('file list', () => {
    const entry = { name: 'sub', type: 'directory', size: 4096, mode: '0755', mtime: '2026-01-01T00:00:00.000Z' }

    it('prints a page, or every entry as it comes', async () => {
      const page = { path: '/srv', data: [entry], truncated: true, next_cursor: 'c', has_more: true }
      wire.says(json(page))
      const { out, err } = await svc.run(['file', 'list', '/srv'])
      expect(out).toBe('MODE  SIZE  CHANGED           NAME\n0755  4096  2026-01-01 00:00  sub/\n')
      expect(err).toContain('--all')
      const link = { ...entry, name: 'l', type: 'symlink', target: 'sub' }
      wire.says(json(page), json({ ...page, data: [link], next_cursor: null, has_more: false }))
      const all = await svc.run(['file', 'list', '/srv', '--all', '--limit', '1'])
      expect(all.out).toBe('0755  4096  2026-01-01 00:00  sub/\n0755  4096  2026-01-01 00:00  l -> sub\n')
    })
  })
})
