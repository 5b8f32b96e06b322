import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json } from '../../../../../test/support/wire-server.js'

const id = 'node_01jd0000000000000000000000'
const other = 'node_01jd0000000000000000000001'
const node = {
  id,
  name: 'the tests',
  status: 'idle',
  kind: 'general',
  mode: 'base',
  lifecycle: 'resident',
  engine: 'loop',
  model: { strength: 'medium' },
}
const roadmap = { node_id: id, text: '# Plan', version: 3, updated_at: '2026-01-01T00:00:00.000Z', updated_by: 'owner' }
const subscription = { subscriber: other, publisher: id, mode: 'passive', created_at: '2026-01-01T00:00:00.000Z' }

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
})
afterAll(() => svc.stop())

const inside = { env: { SVC_NODE_ID: id, SVC_TOKEN: 'svc_node_x' } }

describe('svc node update, promote and demote', () => {
  it.each<[string[], string, string, unknown]>([
    [['update', id, '--name', 'x', '--if-match', '4'], 'PATCH', '', { name: 'x', if_match: 4 }],
    [
      ['update', id, '--description', '', '--lifecycle', 'terminal'],
      'PATCH',
      '',
      { description: null, lifecycle: 'terminal' },
    ],
    [
      ['update', id, '--strength', 'light', '--model', 'p/m'],
      'PATCH',
      '',
      { model: { strength: 'light', override: 'p/m' } },
    ],
    [['promote', id], 'POST', '/promote', {}],
    [
      ['promote', id, '--kind', 'plan', '--resident', '--roadmap', '# R'],
      'POST',
      '/promote',
      { kind: 'plan', resident: true, roadmap: '# R' },
    ],
    [
      ['promote', id, '--terminal', '--strength', 'strong'],
      'POST',
      '/promote',
      { resident: false, strength: 'strong' },
    ],
    [['demote', id], 'POST', '/demote', undefined],
  ])('send %j', async (args, method, path, body) => {
    wire.says(json(node))
    const { code, out } = await svc.run(['node', ...args])
    expect([code, out]).toEqual([0, `${id}  the tests: general, base, resident, medium (idle)\n`])
    expect(wire.only).toMatchObject({ method, path: `/v1/nodes/${id}${path}` })
    if (body) expect(wire.only.body).toEqual(body)
  })

  it('say what is missing, and send nothing', async () => {
    wire.says(json(node))
    for (const args of [['update', id], ['promote'], ['promote', id, '--resident', '--terminal']]) {
      expect((await svc.run(['node', ...args])).code).toBe(2)
    }
    expect(wire.received).toHaveLength(0)
  })

  it('promote the node that they run in', async () => {
    wire.says(json(node))
    expect((await svc.run(['node', 'promote', '--json'], inside)).code).toBe(0)
    expect(wire.only).toMatchObject({
      path: `/v1/nodes/${id}/promote`,
      headers: { authorization: 'Bearer svc_node_x' },
    })
  })
})

describe('svc node roadmap', () => {
  it('reads it, as it is or was', async () => {
    wire.says(json(roadmap), json(roadmap))
    const { code, out, err } = await svc.run(['node', 'roadmap', id])
    expect([code, out]).toEqual([0, '# Plan\n'])
    expect(err).toContain('version 3, by owner')
    await svc.run(['node', 'roadmap', '--version', '2'], inside)
    expect(wire.received.map(({ path }) => path)).toEqual([
      `/v1/nodes/${id}/roadmap`,
      `/v1/nodes/${id}/roadmap?version=2`,
    ])
  })

  it('writes it from standard input', async () => {
    wire.says(json(roadmap))
    const { code, out, err } = await svc.run(['node', 'roadmap', id, '--write', '-', '--if-match', '2'], {
      input: '# Plan\n',
    })
    expect([code, out]).toEqual([0, ''])
    expect(err).toContain('version 3')
    expect(wire.only).toMatchObject({ method: 'PUT', body: { text: '# Plan', if_match: 2 } })
  })

  it.each([[['--write', 'x', '--version', '1']], [['--if-match', '1']]])('refuses %j', async (args) => {
    expect((await svc.run(['node', 'roadmap', id, ...args])).code).toBe(2)
  })
})

describe('svc node cancel', () => {
  it('shows what ended and what was spared', async () => {
    wire.says(json({ canceled: [id], spared: [other] }))
    const { out } = await svc.run(['node', 'cancel', id])
    expect(out).toBe(`${id}  canceled\n${other}  spared: somebody else watches it, or a node above it\n`)
  })
})

describe('svc node revive-all', () => {
  const fallen = {
    id,
    name: 'the tests',
    status: 'dead',
    reason: 'it ended as dead: no key',
    fault: 'auth',
    usable: true,
  }
  const homeless = { ...fallen, id: other, usable: false }

  it('lists them, and says that nothing was revived', async () => {
    wire.says(json({ nodes: [fallen, homeless], revived: [], has_more: true }))
    const { out, err } = await svc.run(['node', 'revive-all', '--under', id, '--limit', '2'])
    expect(wire.only).toMatchObject({ path: '/v1/nodes/revive-all', body: { confirm: false, under: id, limit: 2 } })
    expect(out).toContain(`${id}  dead `)
    expect(out).toContain('no key')
    expect(out).toContain('dead, its worktree is gone')
    expect(err).toContain('--confirm')
    expect(err).toContain('there are more')
  })

  it('revives them when confirmed', async () => {
    wire.says(json({ nodes: [fallen, homeless], revived: [id], has_more: false }))
    const { out, err } = await svc.run(['node', 'revive-all', '--confirm'])
    expect(wire.only.body).toEqual({ confirm: true })
    expect(out).toContain(`${id}  revived`)
    expect(err).toContain('1 of 2 start again')
  })

  it('is for the owner alone', async () => {
    expect((await svc.run(['node', '--help'], inside)).out).not.toContain('revive-all')
    expect((await svc.run(['node', '--help'])).out).toContain('revive-all')
  })
})

describe('svc canvas watch, unwatch and watches', () => {
  it('make one node hear of another', async () => {
    wire.says(json(subscription))
    const { out } = await svc.run(['canvas', 'watch', id, '--by', other, '--passive'])
    expect(out).toBe(`${other}  watches ${id} (passive)\n`)
    expect(wire.only).toMatchObject({
      method: 'PUT',
      path: '/v1/canvas/subscriptions',
      body: { subscriber: other, publisher: id, mode: 'passive' },
    })
  })

  it('take the node that they run in for the one that hears', async () => {
    wire.says(json(subscription))
    await svc.run(['canvas', 'watch', other], inside)
    expect(wire.only.body).toEqual({ subscriber: id, publisher: other, mode: 'active' })
    expect((await svc.run(['canvas', 'watch', other])).code).toBe(2)
  })

  it('make it hear of single events instead, at a tier of its own', async () => {
    const put = { watcher: other, watcher_name: 'lead', source: id, source_name: null, events: ['node.idle'] }
    wire.says(json({ ...put, tier: 'deferred' }))
    const args = ['canvas', 'watch', id, '--by', other, '--events', 'node.idle', '--tier', 'deferred']
    expect((await svc.run(args)).out).toBe(`lead (${other})  watches ${id}: node.idle (deferred)\n`)
    const body = { watcher: other, source: id, events: ['node.idle'], tier: 'deferred' }
    expect(wire.only).toMatchObject({ method: 'PUT', path: '/v1/canvas/watches', body })
  })

  it('make a node hear of an object, and an object of a node', async () => {
    const put = { watcher: id, watcher_name: null, source: 'obj_x', source_name: 'build-server', events: null }
    wire.says(json({ ...put, tier: 'normal' }))
    const { out } = await svc.run(['canvas', 'watch', 'build-server'], inside)
    expect(out).toBe(`${id}  watches build-server (obj_x): each event (normal)\n`)
    expect(wire.only).toMatchObject({ path: '/v1/canvas/watches', body: { watcher: id, source: 'build-server' } })
    await svc.run(['canvas', 'watch', id, '--by', 'chat'])
    expect(wire.received.at(-1)?.body).toEqual({ watcher: 'chat', source: id })
  })

  it.each([
    [['--by', other], 'name the node or the object'],
    [[id, '--by', other, '--since', '1h'], 'without a source'],
    [['build-server', '--by', other, '--passive'], '--tier deferred'],
    [[id, '--by', other, '--passive', '--events', 'node.idle'], '--tier deferred'],
    [[id, '--by', other, '--tier', 'soon'], 'critical or urgent'],
    [[id, '--by', other, '--events', 'a,,b'], 'a.b,a.c'],
    [['build-server'], '--by <ref>'],
  ])('send nothing for %j, and say how it is said', async (args, how) => {
    wire.says(json({}))
    const { code, err } = await svc.run(['canvas', 'watch', ...args])
    expect([code, err]).toEqual([2, expect.stringContaining(how)])
    expect(wire.received).toHaveLength(0)
  })

  it('take it back, however it was made', async () => {
    wire.says(json({ removed: false }), json({ removed: true }))
    const { out } = await svc.run(['canvas', 'unwatch', id, '--by', other])
    expect(out).toBe(`${other}  watches ${id} no more\n`)
    expect(wire.received.map(({ method, path }) => [method, path])).toEqual([
      ['DELETE', `/v1/canvas/watches?watcher=${other}&source=${id}`],
      ['DELETE', `/v1/canvas/subscriptions?subscriber=${other}&publisher=${id}`],
    ])
    wire.says(json({ removed: false }))
    expect((await svc.run(['canvas', 'unwatch', 'chat', '--by', other])).out).toBe(`${other}  did not watch chat\n`)
    expect(wire.only.path).toBe(`/v1/canvas/watches?watcher=${other}&source=chat`)
  })

  it('show both sides', async () => {
    const page = (data: unknown[]) => json({ data, next_cursor: null, has_more: false })
    const put = { watcher: 'obj_c', watcher_name: 'chat', source: id, source_name: null, events: ['node.idle'] }
    const watch = { ...put, tier: 'normal', created_at: subscription.created_at }
    const own = {
      ...watch,
      watcher: id,
      watcher_name: null,
      source: 'obj_b',
      source_name: 'build-server',
      events: null,
    }
    wire.says(
      page([own]),
      page([watch]),
      page([{ ...subscription, subscriber: id, publisher: other }]),
      page([subscription]),
    )
    const { out } = await svc.run(['canvas', 'watches', id])
    expect(out).toMatch(new RegExp(`watches +${other} +reports and end +passive`))
    expect(out).toMatch(/watches +build-server \(obj_b\) +each event +normal/)
    expect(out).toMatch(new RegExp(`watched by +${other} +reports and end +passive`))
    expect(out).toMatch(/watched by +chat \(obj_c\) +node\.idle +-/)
    wire.says(page([]), page([watch]))
    expect((await svc.run(['canvas', 'watches', 'chat'])).out).not.toContain('reports and end')
    expect(wire.received).toHaveLength(2)
  })
})
