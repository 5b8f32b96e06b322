import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SvcCommand } from '../../../../test/support/svc-command.js'
import { json, problem } from '../../../../test/support/wire-server.js'

let svc: SvcCommand

const result = (more: object = {}) =>
  json({
    exit_code: 0,
    signal: null,
    stdout: 'out\n',
    stderr: 'err',
    truncated: false,
    duration_ms: 5,
    timed_out: false,
    ...more,
  })

beforeAll(async () => {
  svc = await SvcCommand.start()
})
afterAll(() => svc.stop())

describe('svc bash', () => {
  it('prints what the command printed, as it was, and exits as it did', async () => {
    svc.wire.says(result({ exit_code: 7 }))
    expect(await svc.run(['bash', 'make test | tail'])).toEqual({ code: 7, out: 'out\n', err: 'err' })
    expect(svc.wire.only).toMatchObject({ method: 'POST', path: '/v1/bash' })
    expect(svc.wire.only.body).toEqual({ cwd: svc.dataDir, command: 'make test | tail' })
  })

  it.each<[string[], object]>([
    [['--', 'ls', '-l'], { command: 'ls -l' }],
    [['--', 'echo', "it's", 'a b', '$HOME', ''], { command: `echo 'it'\\''s' 'a b' '$HOME' ''` }],
    [['--', 'ls | wc -l'], { command: 'ls | wc -l' }],
    [
      ['--cwd', '/srv', '--timeout', '5m', '--env', 'A=b=c', '--env', 'B=', 'x'],
      { cwd: '/srv', timeout: 300_000, env: { A: 'b=c', B: '' } },
    ],
    [['--cwd', 'sub', '--timeout', '30s', 'x'], { timeout: 30_000 }],
    [['--timeout', '500', '--stdin', 'cat'], { timeout: 500, stdin: 'given\n' }],
  ])('%j asks for that', async (args, body) => {
    svc.wire.says(result())
    expect((await svc.run(['bash', ...args], { input: 'given\n' })).code).toBe(0)
    expect(svc.wire.only.body).toMatchObject(body)
  })

  it('exits as a shell does after a signal and after its time', async () => {
    svc.wire.says(result({ exit_code: null, signal: 'SIGKILL' }))
    expect((await svc.run(['bash', 'x'])).code).toBe(137)
    svc.wire.says(result({ exit_code: null, timed_out: true, duration_ms: 400 }))
    const late = await svc.run(['bash', 'x'])
    expect(late.code).toBe(124)
    expect(late.err).toContain('its time was up after 400 ms')
  })

  it('answers the raw answer as JSON', async () => {
    svc.wire.says(result({ exit_code: 3 }))
    const { code, out } = await svc.run(['bash', 'x', '--json'])
    expect(code).toBe(3)
    expect(JSON.parse(out)).toMatchObject({ exit_code: 3, stdout: 'out\n' })
  })

  it.each([
    [[], 'the command is missing'],
    [['a', '--', 'b'], 'two commands'],
    [['a', '--timeout', 'soon'], 'no time'],
    [['a', '--env', 'A'], 'NAME=value'],
  ])('%j is a usage error', async (args, message) => {
    const { code, err } = await svc.run(['bash', ...args])
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
  })

  it('says why it was refused', async () => {
    svc.wire.says(problem(409, { code: 'outcome_unknown', detail: 'It was cut off.' }))
    const { code, err } = await svc.run(['bash', 'x'])
    expect([code, err]).toEqual([4, expect.stringContaining('outcome_unknown')])
  })
})
