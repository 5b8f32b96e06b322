import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json } from '../../../../../test/support/wire-server.js'

const id = 'node_01jd0000000000000000000000'
const worktree = { path: '/t', branch: 'svc/x', base: 'b'.repeat(40), repository: '/r', commit: 'c'.repeat(40) }

describe('svc node worktree-close and worktree-abandon', () => {
  let svc: SvcCommand
  let wire: SvcCommand['wire']

  beforeAll(async () => {
    svc = await SvcCommand.start()
    wire = svc.wire
  })
  afterAll(() => svc.stop())

  it.each([
    [['worktree-close', id], 'close', { force: false }],
    [['worktree-close', id, '--force'], 'close', { force: true }],
    [['worktree-abandon', id], 'abandon', undefined],
  ])('ask for %j', async (args, operation, body) => {
    const state = operation === 'close' ? 'closed' : 'abandoned'
    wire.says(json({ id, worktree: { ...worktree, state } }))
    const { code, out } = await svc.run(['node', ...args])
    expect([code, out]).toEqual([0, `${id}  ${state}  svc/x at ${worktree.commit}\n`])
    expect(wire.only).toMatchObject({ method: 'POST', path: `/v1/nodes/${id}/worktree/${operation}` })
    if (body) expect(wire.only.body).toEqual(body)
  })

  it('name the changes that would be lost, and fail', async () => {
    const changes = [{ path: 'a b.txt', change: 'untracked' }]
    wire.says(
      json({ code: 'worktree_dirty', title: 't', detail: 'it has changes', status: 409, changes, total: 3 }, 409),
    )
    const { code, err } = await svc.run(['node', 'worktree-close', id])
    expect(code).toBe(4)
    expect(err).toContain('untracked  a b.txt')
    expect(err).toContain('and 2 more')
    expect(err).toContain('--force'.slice(2))
  })
})
