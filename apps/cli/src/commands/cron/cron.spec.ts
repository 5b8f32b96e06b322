import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json, problem } from '../../../../../test/support/wire-server.js'

const id = 'cron_01jd0000000000000000000000'
const node = 'node_01jd0000000000000000000000'
const slot = '2026-01-01T08:00:00.000Z'
const page = (data: unknown[], more = {}) => json({ data, next_cursor: null, has_more: false, ...more })

const fire = (more: object = {}) => ({
  cron_id: id,
  slot,
  trigger: 'schedule',
  status: 'succeeded',
  cause: null,
  slots: 1,
  last_slot: slot,
  due_at: slot,
  fired_at: slot,
  lateness_ms: 4,
  ended_at: slot,
  node_id: node,
  message_id: null,
  run_id: null,
  error: null,
  exit_code: null,
  output: null,
  ...more,
})

const cron = (more: object = {}) => ({
  id,
  name: 'issues',
  owner_node_id: null,
  app_id: null,
  created_by: { kind: 'owner', id: null },
  schedule: { cron: '0 9 * * 1-5', tz: 'Europe/Berlin' },
  action: { type: 'create_node', prompt: 'look at the new issues', cwd: '/srv/app' },
  missed: 'once',
  catchup_window_s: 3600,
  overlap: 'skip',
  jitter_s: 0,
  start_at: null,
  end_at: null,
  max_failures: 3,
  delete_after_run: false,
  status: 'active',
  pause_reason: null,
  consecutive_failures: 0,
  next_fire_at: '2090-01-02T08:00:00.000Z',
  last_fire: fire(),
  version: 2,
  created_at: slot,
  updated_at: slot,
  ...more,
})

const failed = fire({
  status: 'failed',
  cause: 'work_failed',
  lateness_ms: 7_500_000,
  error: { code: 'auth', message: 'The key was refused.' },
})

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
})
afterAll(() => svc.stop())

describe('svc cron list', () => {
  it('shows when each fires next, from now', async () => {
    const rest = cron({
      id: id.replace('jd', 'je'),
      status: 'paused',
      pause_reason: 'failures',
      next_fire_at: null,
      last_fire: failed,
    })
    wire.says(page([cron(), rest]))
    const { code, out } = await svc.run(['cron', 'list', '--status', 'active', '--node', node, '--limit', '5'])
    expect(code).toBe(0)
    expect(wire.only.path).toBe(`/v1/crons?status=active&limit=5&node_id=${node}`)
    expect(out).toMatch(/active +in \d+d +succeeded \d+d ago +0 9 \* \* 1-5 \(Europe\/Berlin\) +issues/)
    expect(out).toMatch(/paused \(failures\) +- +failed \d+d ago/)
  })

  it('goes on page by page', async () => {
    wire.says(page([cron()], { has_more: true, next_cursor: 'c' }))
    expect((await svc.run(['cron', 'list'])).err).toContain('--after c')
    wire.says(page([cron()], { has_more: true, next_cursor: 'c' }), page([cron()]))
    const { out } = await svc.run(['cron', 'list', '--all', '--json'])
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual([id, id])
    expect(wire.received[1]?.path).toBe('/v1/crons?after=c')
  })
})

describe('svc cron show', () => {
  it.each<[string, object, RegExp]>([
    ['active', {}, /^status +active\n.*\n.*does +create a node in \/srv\/app: look at the new issues$/ms],
    ['paused by hand', { status: 'paused', pause_reason: 'asked' }, /^status +paused: svc cron resume cron_/m],
    [
      'paused by itself',
      { status: 'paused', pause_reason: 'failures', consecutive_failures: 3, last_fire: failed },
      /^status +paused by itself, since it failed 3 times in a row: svc cron history cron_.*svc cron resume cron_/m,
    ],
    ['completed', { status: 'completed' }, /^status +completed: no slot is left$/m],
    ['failed', { status: 'failed' }, /^status +failed: no slot is left, and the last one that was fired failed$/m],
    ['never fired', { status: 'failed', last_fire: null }, /^status +failed: no slot is left, and none was fired$/m],
    [
      'its last work',
      { last_fire: failed },
      /^last +failed \(its work failed\), the slot of .*, 2h 5m late, by node_\w+; auth: The key was refused\.$/m,
    ],
    ['the clock of its zone', {}, /^next +Mon 2090-01-02 09:00:00 \+01:00, in \d+d \(2090-01-02T08:00:00Z\)$/m],
    ['the output of a command', { last_fire: fire({ output: 'two\nlines\n', exit_code: 0 }) }, /wrote:\ntwo\nlines$/m],
  ])('says why it is as it is: %s', async (_, more, text) => {
    wire.says(json(cron(more)))
    const { code, out } = await svc.run(['cron', 'show', id])
    expect(code).toBe(0)
    expect(out).toMatch(text)
  })
})

describe('svc cron next', () => {
  const times = {
    data: [
      { slot: '2026-03-28T01:30:00.000Z', local: '', due_at: '2026-03-28T01:30:00.000Z' },
      { slot: '2026-03-29T01:00:00.000Z', local: '', due_at: '2026-03-29T01:00:07.000Z' },
    ],
  }

  it('shows the times of one in its zone and in UTC, and how much later each fires', async () => {
    wire.says(json(cron()), json(times))
    const { code, out } = await svc.run(['cron', 'next', id, '-n', '2'])
    expect(code).toBe(0)
    expect(wire.received.map(({ path }) => path)).toEqual([`/v1/crons/${id}`, `/v1/crons/${id}/next?count=2`])
    expect(out).toMatch(/^Europe\/Berlin +UTC +IN +FIRES$/m)
    expect(out).toMatch(/^Sat 2026-03-28 02:30:00 \+01:00 +2026-03-28T01:30:00Z +0s +0s later$/m)
    expect(out).toMatch(/^Sun 2026-03-29 03:00:00 \+02:00 +2026-03-29T01:00:00Z +0s +7s later$/m)
  })

  it('are at least one', async () => {
    wire.says(json(times))
    expect((await svc.run(['cron', 'next', id, '-n', '0'])).code).toBe(2)
    expect(wire.received).toHaveLength(0)
  })

  it('shows those of a schedule that is only thought of', async () => {
    wire.says(json(times))
    const line = ['cron', 'next', '--cron', '30 2 * * *', '--tz', 'Asia/Tokyo', '-n', '2', '--start', '2026-03-28']
    const { code, out } = await svc.run(line)
    expect(code).toBe(0)
    expect(wire.only).toMatchObject({ method: 'POST', path: '/v1/crons/preview' })
    expect(wire.only.body).toEqual({
      schedule: { cron: '30 2 * * *', tz: 'Asia/Tokyo' },
      start_at: '2026-03-27T15:00:00.000Z',
      count: 2,
    })
    expect(out).toContain('Asia/Tokyo')
  })

  it('says that none are left, or that it is paused', async () => {
    wire.says(json(cron({ status: 'completed' })), json({ data: [] }))
    expect((await svc.run(['cron', 'next', id])).err).toBe('no slot is left: it is completed\n')
    wire.says(json(cron({ status: 'paused', pause_reason: 'asked' })), json(times))
    expect((await svc.run(['cron', 'next', id])).err).toContain('it is paused')
  })

  it.each([
    [['cron', 'next']],
    [['cron', 'next', id, '--every', '1h']],
    [['cron', 'next', '--every', '1h', '--at', '2030-01-01']],
  ])('takes one or the other: %j is a usage error', async (args) => {
    wire.says(json(times))
    expect((await svc.run(args)).code).toBe(2)
    expect(wire.received).toHaveLength(0)
  })
})

describe('what a schedule is called and does', () => {
  it('adds no lines to what is shown of it', async () => {
    const [name, cwd] = ['tea\nmade by  owner', '/tmp/x\nstatus  active']
    const failed = fire({ status: 'failed', error: { code: 'not_found', message: `no ${cwd}` } })
    wire.says(json(cron({ name, action: { type: 'bash', cwd, command: 'true', timeout: 1000 }, last_fire: failed })))
    const { out } = await svc.run(['cron', 'show', id])
    expect(out.match(/^(made by|status) /gm)).toHaveLength(2)
    expect(out).toContain('tea\\nmade by  owner')
  })
})

describe('svc cron history', () => {
  it('shows each slot with its status, cause, lateness, node and error', async () => {
    const away = fire({
      status: 'missed',
      cause: 'window',
      slots: 12,
      last_slot: '2026-01-01T20:00:00.000Z',
      fired_at: null,
      lateness_ms: null,
      node_id: null,
    })
    const exit = fire({ trigger: 'manual', status: 'failed', cause: 'work_failed', exit_code: 7, node_id: null })
    wire.says(page([failed, away, exit], { has_more: true, next_cursor: 'c' }))
    const { out, err } = await svc.run(['cron', 'history', id, '--limit', '3'])
    expect(wire.only.path).toBe(`/v1/crons/${id}/fires?limit=3`)
    expect(out).toMatch(/failed +its work failed +2h 5m +node_\w+ +auth: The key was refused\./)
    expect(out).toMatch(/08:00:00\.000Z to 2026-01-01T20:00:00\.000Z \(12\) +missed +too old to make up for +- +-/)
    expect(out).toMatch(/failed \(by hand\) +its work failed +4ms +- +exit code 7/)
    expect(err).toContain('--after c')
  })

  it('of one that is not there is not found', async () => {
    wire.says(problem(404, { code: 'not_found', detail: 'no' }))
    expect((await svc.run(['cron', 'history', id])).code).toBe(3)
  })
})

describe('svc cron run', () => {
  const byHand = (more: object) => fire({ trigger: 'manual', ...more })

  it('fires it and says so', async () => {
    wire.says(json(byHand({ status: 'starting', fired_at: null, node_id: null }), 202))
    const { code, err } = await svc.run(['cron', 'run', id])
    expect(code).toBe(0)
    expect(wire.only).toMatchObject({ method: 'POST', path: `/v1/crons/${id}/run` })
    expect(err).toContain('starting')
  })

  it('waits for the end of that firing, also when others came after it', async () => {
    const later = fire({ slot: '2026-01-01T09:00:00.000Z', status: 'failed' })
    wire.says(
      json(cron()),
      json(byHand({ status: 'starting' }), 202),
      page([later, byHand({ status: 'running' })]),
      page([later], { has_more: true, next_cursor: 'c' }),
      page([byHand({ output: 'all is well\n', exit_code: 0 })]),
    )
    const { code, out } = await svc.run(['cron', 'run', id, '--wait'])
    expect([code, out]).toEqual([0, 'all is well\n'])
    expect(wire.received.at(-1)?.path).toBe(`/v1/crons/${id}/fires?limit=200&after=c`)
  })

  it.each([
    [{ status: 'failed', error: { code: 'auth', message: 'no key' } }, 'failed (auth: no key)'],
    [{ status: 'failed', exit_code: 7 }, 'failed (exit code 7)'],
    [{ status: 'unknown' }, 'unknown'],
    [{ status: 'canceled' }, 'canceled'],
  ])('exits with 1 when its work ended as %j', async (end, text) => {
    wire.says(json(cron()), json(byHand({ status: 'starting' }), 202), page([byHand(end)]))
    const { code, err } = await svc.run(['cron', 'run', id, '--wait'])
    expect([code, err]).toEqual([1, expect.stringContaining(`it is ${text}`)])
  })

  it.each([
    [true, 0, 'succeeded'],
    [false, 1, 'was deleted meanwhile'],
  ])('takes one that is gone for done, only if it goes after its success: %s', async (delete_after_run, exit, text) => {
    const gone = problem(404, { code: 'not_found', detail: 'no' })
    wire.says(json(cron({ delete_after_run })), json(byHand({ status: 'starting' }), 202), gone)
    const { code, err } = await svc.run(['cron', 'run', id, '--wait'])
    expect([code, err]).toEqual([exit, expect.stringContaining(text)])
  })

  it('is a conflict while its work goes on', async () => {
    wire.says(problem(409, { code: 'already_running', detail: 'no' }))
    expect((await svc.run(['cron', 'run', id])).code).toBe(4)
  })
})

describe('svc cron', () => {
  it.each<[string[], string, string, unknown]>([
    [['pause', id], 'POST', `/v1/crons/${id}/pause`, cron({ status: 'paused', pause_reason: 'asked' })],
    [['resume', id], 'POST', `/v1/crons/${id}/resume`, cron()],
    [['rm', id], 'DELETE', `/v1/crons/${id}`, { deleted: true }],
    [['poke'], 'POST', '/v1/crons/poke', { armed: 2, due: 1 }],
  ])('%j is %s %s', async (args, method, path, answer) => {
    wire.says(json(answer))
    expect((await svc.run(['cron', ...args])).code).toBe(0)
    expect(wire.only).toMatchObject({ method, path })
    wire.says(json(answer))
    expect(JSON.parse((await svc.run(['cron', ...args, '--json'])).out)).toEqual(answer)
  })

  it('sends nothing for what is no id of a schedule', async () => {
    wire.says(json(cron()))
    for (const verb of ['show', 'pause', 'resume', 'run', 'rm']) {
      const { code, err } = await svc.run(['cron', verb, node])
      expect([code, err]).toEqual([2, expect.stringContaining('svc cron list')])
    }
    expect(wire.received).toHaveLength(0)
  })

  it('is for who holds svc:schedule, and poke for the owner', async () => {
    const env = { SVC_NODE_ID: node, SVC_TOKEN: 'svc_node_x', SVC_SCOPES: 'svc:act svc:llm' }
    wire.says(problem(500, {}))
    expect((await svc.run(['--help'], { env })).out).not.toMatch(/^ {2}cron /m)
    expect((await svc.run(['--help'], { env })).out).toMatch(/^ {2}ledger /m)
    const refused = await svc.run(['cron', 'list'], { env })
    expect([refused.code, refused.err]).toEqual([6, expect.stringContaining('svc:schedule (scope_missing)')])
    const holder = { ...env, SVC_SCOPES: 'svc:llm svc:schedule' }
    expect((await svc.run(['--help'], { env: holder })).out).toMatch(/^ {2}cron /m)
    const { out } = await svc.run(['cron', '--help'], { env: holder })
    for (const name of ['add', 'list', 'show', 'pause', 'resume', 'run', 'rm', 'next', 'history']) {
      expect(out).toMatch(new RegExp(`^ {2}${name} `, 'm'))
    }
    expect(out).not.toMatch(/^ {2}poke /m)
    expect((await svc.run(['completion', 'bash'], { env })).out).not.toContain('svc cron')
    expect((await svc.run(['completion', 'bash'], { env: holder })).out).toContain('"svc cron add")')
    expect(wire.received).toHaveLength(0)
  })
})
