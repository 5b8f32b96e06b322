import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../../test/support/svc-command.js'
import { json, problem } from '../../../../../test/support/wire-server.js'
import { now } from '../../clock.js'

const id = 'cron_01jd0000000000000000000000'
const node = 'node_01jd0000000000000000000000'
const other = 'node_01jd0000000000000000000001'
const agent = { SVC_NODE_ID: node, SVC_TOKEN: 'svc_node_x', SVC_SCOPES: 'svc:schedule svc:act' }
const calendar = { cron: '0 9 * * 1-5', tz: 'Europe/Berlin' }
const said = { type: 'message', node_id: node, body: 'hi' }
const armed = { id, schedule: calendar, action: said }
const times = { data: [{ slot: '2030-01-31T08:00:00.000Z', local: '', due_at: '2030-01-31T08:00:00.000Z' }] }

let svc: SvcCommand
let wire: SvcCommand['wire']
beforeAll(async () => {
  svc = await SvcCommand.start()
  wire = svc.wire
})
afterAll(() => svc.stop())

const nine = ['--cron', '0 9 * * 1-5', '--tz', 'Europe/Berlin']
const hi = ['--message', 'hi', '--to', node]

/** The body that a line sends. */
const sent = async (args: readonly string[], env: Record<string, string> = {}): Promise<unknown> => {
  wire.says(json(armed, 201))
  const { code, err } = await svc.run(['cron', 'add', '--json', ...args], { env })
  expect([code, err]).toEqual([0, ''])
  expect(wire.only).toMatchObject({ method: 'POST', path: '/v1/crons' })
  return wire.only.body
}

describe('svc cron add', () => {
  it.each<[string[], object]>([
    [nine, { schedule: calendar }],
    [['--every', '15m'], { schedule: { every: 900 } }],
    [['--every', '900'], { schedule: { every: 900 } }],
    [['--at', '2030-07-31T09:00', '--tz', 'Asia/Tokyo'], { schedule: { at: '2030-07-31T00:00:00.000Z' } }],
    [['--at', '2030-07-31T09:00Z'], { schedule: { at: '2030-07-31T09:00:00.000Z' } }],
    [
      ['--every', '1h', '--start', '2030-01-31', '--end', '2030-02-28T18:00', '--tz', 'Asia/Tokyo'],
      { schedule: { every: 3600 }, start_at: '2030-01-30T15:00:00.000Z', end_at: '2030-02-28T09:00:00.000Z' },
    ],
  ])('arms %j', async (args, body) => {
    expect(await sent([...args, ...hi])).toEqual({ ...body, action: said })
  })

  it("takes the machine's zone where none is said, and a time from now", async () => {
    const env = { TZ: 'America/St_Johns' }
    expect(await sent(['--cron', '@daily', ...hi], env)).toMatchObject({
      schedule: { cron: '@daily', tz: 'America/St_Johns' },
    })
    expect(await sent(['--at', '2030-01-31T09:00', ...hi], env)).toMatchObject({
      schedule: { at: '2030-01-31T12:30:00.000Z' },
    })
    const before = now()
    const { schedule } = (await sent(['--in', '2h', ...hi])) as { schedule: { at: string } }
    expect(Date.parse(schedule.at)).toBeGreaterThanOrEqual(before + 7_200_000)
    expect(Date.parse(schedule.at)).toBeLessThanOrEqual(now() + 7_200_000)
  })

  it.each<[string[], object]>([
    [[...hi, '--tier', 'urgent'], { ...said, tier: 'urgent' }],
    [
      ['--bash', 'make check', '--cwd', '/srv', '--timeout', '5m'],
      { type: 'bash', cwd: '/srv', command: 'make check', timeout: 300_000 },
    ],
    [
      ['--bash', 'x', '--cwd', '/srv', '--env', 'A=b=c'],
      { type: 'bash', cwd: '/srv', command: 'x', env: { A: 'b=c' } },
    ],
    [
      ['--new', 'look', '--cwd', '/srv', '--kind', 'review', '--node-name', 'n', '--strength', 'light'],
      {
        type: 'create_node',
        prompt: 'look',
        cwd: '/srv',
        kind: 'review',
        name: 'n',
        model: { strength: 'light' },
        lifecycle: 'terminal',
      },
    ],
    [
      ['--new', 'look', '--cwd', '/srv', '--lifecycle', 'resident', '--model', 'openai/m'],
      { type: 'create_node', prompt: 'look', cwd: '/srv', lifecycle: 'resident', model: { override: 'openai/m' } },
    ],
    [
      ['--cwd', '/srv', '--stdin', 'text', '--', './backup.sh', '--json'],
      {
        type: 'create_node',
        prompt: 'Run ./backup.sh --json',
        cwd: '/srv',
        lifecycle: 'terminal',
        engine: 'exec',
        exec: { argv: ['./backup.sh', '--json'], stdin: 'text' },
      },
    ],
    [
      ['--publish', 'clock', '--event', 'tick', '--payload', '{"at":9}'],
      { type: 'publish', ref: 'clock', event: 'tick', payload: { at: 9 } },
    ],
    [['--publish', 'clock', '--event', 'tick'], { type: 'publish', ref: 'clock', event: 'tick', payload: {} }],
    [['--action-json', '{"type":"start_run","prompt":"go"}'], { type: 'start_run', prompt: 'go' }],
  ])('does %j', async (args, action) => {
    expect(await sent([...nine, ...args])).toEqual({ schedule: calendar, action })
  })

  it('reads an action from a file and from standard input, and works here unless told otherwise', async () => {
    writeFileSync(join(svc.dataDir, 'act.json'), JSON.stringify(said))
    expect(await sent([...nine, '--action-json', 'act.json'])).toMatchObject({ action: said })
    wire.says(json(armed, 201))
    await svc.run(['cron', 'add', ...nine, '--action-json', '-', '--json'], { input: JSON.stringify(said) })
    expect(wire.only.body).toMatchObject({ action: said })
    expect(await sent([...nine, '--bash', 'ls'])).toMatchObject({ action: { cwd: svc.dataDir } })
    expect(await sent([...nine, '--new', 'ls'])).toMatchObject({ action: { cwd: svc.dataDir } })
  })

  it('sends a node a message from itself to itself, unless it names another', async () => {
    expect(await sent([...nine, '--message', 'hi'], agent)).toMatchObject({ action: { node_id: node } })
    expect(await sent([...nine, '--message', 'hi', '--to', other], agent)).toMatchObject({ action: { node_id: other } })
  })

  it('says how it is fired', async () => {
    const how = ['--missed', 'all', '--window', '2h', '--overlap', 'queue', '--jitter', '90s', '--max-failures', '5']
    expect(await sent([...nine, ...hi, ...how, '--name', 'n', '--for', node, '--delete-after-run'])).toEqual({
      name: 'n',
      schedule: calendar,
      action: said,
      owner_node_id: node,
      missed: 'all',
      catchup_window_s: 7200,
      overlap: 'queue',
      jitter_s: 90,
      max_failures: 5,
      delete_after_run: true,
    })
  })

  it('answers its id, and says what it does and when next, in its zone and in UTC', async () => {
    wire.says(json(armed, 201), json(times))
    const { code, out, err } = await svc.run(['cron', 'add', ...nine, ...hi])
    expect([code, out]).toEqual([0, `${id}\n`])
    expect(err).toContain(`0 9 * * 1-5 (Europe/Berlin): send ${node} a message: hi`)
    expect(err).toMatch(/Europe\/Berlin +UTC +IN\n.*Thu 2030-01-31 09:00:00 \+01:00 +2030-01-31T08:00:00Z/)
    expect(err).not.toContain('zone is that of this machine')
    expect(wire.received[1]?.path).toBe(`/v1/crons/${id}/next?count=3`)
    wire.says(json(armed, 201), json(times))
    const own = await svc.run(['cron', 'add', '--cron', '@daily', ...hi])
    expect(own.err).toContain('the zone is that of this machine: --tz names another')
  })

  // A script that sees a failure arms it again: then there are two.
  it('is no failure when its times cannot be read, since it is armed', async () => {
    wire.says(json(armed, 201), problem(422, { code: 'validation_failed' }))
    expect(await svc.run(['cron', 'add', ...nine, ...hi])).toMatchObject({ code: 0, out: `${id}\n` })
  })

  it.each<[string[], string]>([
    [hi, 'when is missing'],
    [[...nine, '--every', '1h', ...hi], 'several schedules: --cron, --every'],
    [['--at', '2030-01-31T09:00', '--in', '2h', ...hi], 'several schedules: --at, --in'],
    [['--every', 'often', ...hi], 'no length of time'],
    [['--in', '2030-01-31', ...hi], 'no length of time'],
    [['--at', '2027-02-29T09:00', ...hi], 'no time'],
    [['--at', '2026-03-29T02:30', '--tz', 'Europe/Berlin', ...hi], 'does not exist in Europe/Berlin'],
    [['--at', '2030-01-31T09:00', '--tz', 'Mars/Base', ...hi], 'no time zone Mars/Base'],
    [['--every', '1h', '--tz', 'UTC', ...hi], '--tz says nothing here'],
    [nine, 'what it is to do is missing'],
    [[...nine, ...hi, '--bash', 'ls'], 'several actions: --message, --bash'],
    [[...nine, '--bash', 'ls', '--', 'ls'], 'several actions: --bash, a program after --'],
    [[...nine, '--message', 'hi'], 'whom the message is for is missing'],
    [[...nine, '--message', 'hi', '--to', node, '--kind', 'review'], '--kind says nothing here'],
    [[...nine, '--bash', 'ls', '--node-name', 'x'], '--node-name says nothing here'],
    [[...nine, '--new', 'x', '--timeout', '5m'], '--timeout says nothing here'],
    [[...nine, '--action-json', '{}', '--to', node], '--to says nothing here'],
    [[...nine, '--new', 'x', '--engine', 'exec'], 'needs a program'],
    [[...nine, '--action-json', 'missing.json'], 'cannot read'],
    [[...nine, '--action-json', '{'], 'not JSON'],
    [[...nine, ...hi, '--missed', 'never'], '--missed is skip or once or all'],
    [[...nine, ...hi, '--overlap', 'wait'], '--overlap is'],
    [[...nine, ...hi, '--tier', 'loud'], '--tier is'],
    [[...nine, ...hi, '--jitter', 'some'], 'no length of time'],
    [[...nine, ...hi, '--max-failures', 'x'], 'not a whole number'],
  ])('refuses %j, and says what to do', async (args, message) => {
    wire.says(json(armed, 201))
    const { code, out, err } = await svc.run(['cron', 'add', ...args])
    expect([code, out, err]).toEqual([2, '', expect.stringContaining(message)])
    expect(wire.received).toHaveLength(0)
  })

  it('says what the daemon refuses', async () => {
    wire.says(problem(422, { code: 'schedule_impossible', detail: 'It never comes.' }))
    const { code, err } = await svc.run(['cron', 'add', '--cron', '0 0 31 2 *', ...hi])
    expect([code, err]).toEqual([1, expect.stringContaining('schedule_impossible')])
    expect(err).toContain('what to do:')
  })
})
