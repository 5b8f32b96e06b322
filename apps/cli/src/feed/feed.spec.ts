import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { NodeEvent } from '#sdk/index.js'
import { SvcCommand } from '../../../../test/support/svc-command.js'
import { cut, end, events, json, problem, type Reply } from '../../../../test/support/wire-server.js'
import { timeOf } from '../clock.js'
import { Output } from '../output/output.js'
import { widthOf } from '../output/width.js'
import { feedLine } from './feed.line.js'

const id = 'node_01jd0000000000000000000000'
const event = (type: string, data: Record<string, unknown> = {}, more: object = {}): NodeEvent =>
  ({ id: 'evt_1', seq: 1, type, time: '2026-01-01T12:03:44.000Z', subject: id, data, ...more }) as NodeEvent

const screen = (columns: number, isTTY = true): Output => {
  const stream = { isTTY, columns, on: () => stream, write: () => true }
  return new Output(stream as never, stream as never, { NO_COLOR: '1' })
}
const nothing = { data: [], next_cursor: 'p0', has_more: false }

describe('a line of the feed', () => {
  it('says when, who, what and what about, in one line', () => {
    const line = (type: string, data: Record<string, unknown>) =>
      feedLine(event(type, data), 'builder', screen(120), () => 'helper').replace(/^\d\d:\d\d:\d\d {2}/, '')
    expect(line('tool.ended', { name: 'bash', status: 'failed', duration_ms: 1234 })).toBe(
      'builder             tool.ended          bash failed 1.2s',
    )
    const spawned = { name: 'spawn', input: { name: 'beds', prompt: 'Dig.', worktree: {} } }
    expect(line('tool.started', spawned)).toMatch(/spawn beds: Dig\.$/)
    expect(line('tool.started', { name: 'spawn', input: { cwd: '/x', depth: 1 } })).toMatch(
      /spawn \{"cwd":"\/x","depth":1\}$/,
    )
    expect(line('child.reported', { node_id: 'x', kind: 'final' })).toMatch(/child\.reported {6}helper final$/)
    expect(line('message.accepted', { tier: 'normal', kind: 'prompt', body: 'two\nlines' })).toMatch(
      /normal prompt: two\\nlines$/,
    )
    expect(line('node.updated', { changed: ['name'], by: 'owner' })).toMatch(/by=owner$/)
  })

  it('fits the screen, a narrow one too', () => {
    for (const columns of [30, 60, 80, 120]) {
      const line = feedLine(
        event('report.pushed', { kind: 'final', body: 'x'.repeat(500) }),
        'n'.repeat(60),
        screen(columns),
        String,
      )
      expect(widthOf(line)).toBeLessThanOrEqual(Math.max(columns, 45))
    }
  })
})

describe('a time on the command line', () => {
  it('is so long ago, or that time', () => {
    expect(timeOf('2026-01-31T12:00:00Z')).toBe('2026-01-31T12:00:00.000Z')
    const hour = Date.parse(timeOf('1h') ?? '')
    expect(Date.parse(timeOf('1m') ?? '') - hour).toBeGreaterThanOrEqual(59 * 60_000)
    expect([timeOf('soon'), timeOf('5 apples')]).toEqual([undefined, undefined])
  })
})

describe('svc feed', () => {
  let svc: SvcCommand
  beforeAll(async () => {
    svc = await SvcCommand.start()
  })
  afterAll(() => svc.stop())

  it('follows over broken connections, each event once, names instead of ids', async () => {
    const frame = (position: string, type: string, data = {}) => ({
      id: position,
      event: type,
      data: event(type, data),
    })
    svc.wire.says(
      json(nothing),
      events(
        [{ id: 'p1' }, frame('p2', 'node.created', { name: 'builder', kind: 'general', engine: 'loop' })],
        'breaks',
      ),
      cut,
      problem(503, { code: 'service_unavailable' }, { 'retry-after': '0' }),
      events([frame('p3', 'report.pushed', { kind: 'final', body: 'all done' }), end]),
    )
    const { code, out } = await svc.run(['feed', '--types', 'report.*,node.*', '--under', id])
    expect(code).toBe(0)
    expect(out.split('\n').filter(Boolean)).toEqual([
      expect.stringMatching(/builder +node\.created +general loop$/),
      expect.stringMatching(/builder +report\.pushed +final: all done$/),
    ])
    const [first, ...streams] = svc.wire.received
    expect(first?.path).toBe(`/v1/canvas/events?types=report.*%2Cnode.*&under=${id}&limit=1`)
    expect(streams.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'p2', 'p2', 'p2'])
  })

  it('prints events as they are, one a line', async () => {
    const shown = event('node.idle')
    svc.wire.says(json(nothing), events([{ id: 'p1', event: 'node.idle', data: shown }, end]))
    const { out } = await svc.run(['feed', '--json', '--since', '2026-01-01T00:00:00Z'])
    expect(JSON.parse(out)).toEqual(shown)
    expect(svc.wire.received.at(-1)?.path).toBe('/v1/canvas/events?since=2026-01-01T00%3A00%3A00.000Z')
  })

  it('says at once what can never be followed', async () => {
    svc.wire.says(problem(404, { code: 'not_found' }))
    expect((await svc.run(['feed', '--under', id])).code).toBe(3)
    const { code, err } = await svc.run(['feed', '--since', 'soon'])
    expect([code, err.includes('soon is no time')]).toEqual([2, true])
  })
})

describe('svc canvas tree --watch', () => {
  let svc: SvcCommand
  beforeAll(async () => {
    svc = await SvcCommand.start()
  })
  afterAll(() => svc.stop())

  it('in a pipe prints the tree, then a line for each node that has changed', async () => {
    const entry = (status: string, streaming = false) => ({
      id,
      parent_id: null,
      name: 'builder',
      kind: 'general',
      status,
      streaming,
      fault: null,
      attention: 0,
      cost_usd: 0,
      created_at: '2026-01-01T00:00:00.000Z',
      last_activity_at: '2026-01-01T00:00:00.000Z',
    })
    const page = (node: object) => json({ nodes: [node], next_cursor: null })
    let asked = 0
    svc.wire.says((response, request) => {
      const reply = (): Reply => {
        if (!request.path.startsWith('/v1/canvas/events')) {
          asked += 1
          return asked > 2 ? problem(401, { code: 'token_revoked' }) : page(entry(asked === 1 ? 'active' : 'done'))
        }
        const streams = request.headers.accept?.includes('event-stream')
        return streams ? events([{ id: 'p1', event: 'node.done', data: event('node.done') }], 'breaks') : json(nothing)
      }
      reply()(response, request)
    })
    const { out } = await svc.run(['canvas', 'tree', '--watch'])
    expect(out.split('\n').filter(Boolean)).toEqual([
      expect.stringMatching(/^● builder general {2}active/),
      expect.stringMatching(/^✓ builder general {2}done/),
    ])
  })
})
