import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import { isSvcError } from '#common/kernel/errors.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { testNats } from '#common/testing/nats.js'
import { waitFor } from '#common/testing/wait-for.js'
import { alive, named, RunningHost } from '../../../../test/support/running-host.js'

const run = contract['host.argv.run']
type Asked = InputOf<typeof run>
type Answer = OutputOf<typeof run>

let host: RunningHost
let objects: TestPeer
const workDir = mkdtempSync('/var/tmp/svc-argv-')
const place = (name: string): string => join(workDir, name)
let keys = 0

beforeAll(async () => {
  const nats = testNats().url
  host = new RunningHost(mkdtempSync('/var/tmp/svc-argv-data-'), nats, { SVC_HEALTH_LISTEN: '127.0.0.1:0' })
  await host.start()
  objects = await joinBus(nats, 'objects')
})
afterAll(async () => {
  await objects.close()
  await host.close()
  rmSync(workDir, { recursive: true, force: true })
})

const ask = (asked: Partial<Asked>, more: Partial<Context> = {}): Promise<Answer> => {
  keys += 1
  const ctx = { ...systemContext('objects'), idempotencyKey: `argv-${keys}`, ...more }
  const input = { argv: ['true'], cwd: workDir, env: {}, stdin: '', timeout: 20_000, ...asked }
  return objects.bus.call(run, ctx, input, { target: 'local', outlives: true })
}
const sh = (script: string, more: Partial<Asked> = {}, ctx: Partial<Context> = {}): Promise<Answer> =>
  ask({ argv: ['sh', '-c', script], ...more }, ctx)

const refusal = async (call: Promise<unknown>): Promise<string> => {
  const error = await call.then(
    (answer) => new Error(`it was answered: ${JSON.stringify(answer)}`),
    (thrown: unknown) => thrown,
  )
  if (isSvcError(error)) return error.code
  throw error
}

describe('a program of the owner', () => {
  it('is given its arguments as they are, and what it reads', async () => {
    const said = await ask({
      argv: ['sh', '-c', 'cat; printf "%s|" "$@"', 'sh', '$HOME; x', '*', ''],
      stdin: '{"a":1}\n',
    })
    expect(said).toMatchObject({ exit_code: 0, stdout: '{"a":1}\n$HOME; x|*||', timed_out: false })
  })

  it('has a cleaned environment with its own variables, and the home of the owner for a start', async () => {
    const said = await sh('pwd; env', { cwd: null, env: { SVC_DELIVERY_ID: 'dlv_1', GREETING: 'hi' } })
    const lines = said.stdout.split('\n')
    expect(lines[0]).toBe(homedir())
    expect(lines).toEqual(expect.arrayContaining(['SVC_DELIVERY_ID=dlv_1', 'GREETING=hi', `HOME=${process.env.HOME}`]))
    expect(said.stdout).not.toMatch(/never-seen|NATS_URL|SVC_DATA_DIR/)
  })

  it('answers how it ended, whatever that is', async () => {
    expect(await sh('echo why >&2; exit 7')).toMatchObject({ exit_code: 7, stderr: 'why\n' })
    expect(await sh('kill -9 $$')).toMatchObject({ exit_code: null, signal: 'SIGKILL' })
  })

  it('may leave its input unread, though it is long', async () => {
    expect(await ask({ stdin: 'x'.repeat(1_000_000) })).toMatchObject({ exit_code: 0 })
  })

  it('is kept the beginning and the end of what it prints', async () => {
    const { stdout, truncated } = await sh('echo begin; head -c 5000000 /dev/zero | tr "\\0" x; echo end')
    expect(truncated).toBe(true)
    expect(Buffer.byteLength(stdout)).toBeLessThan(66_000)
    expect(stdout).toMatch(/^begin\n.*bytes left out.*end\n$/s)
  })

  it('ends with all that it started, at its end and at its time', async () => {
    const left = await sh(`(setsid sleep 987.1 & echo $! > ${place('left')}) ; exit 0`)
    expect(left.exit_code).toBe(0)
    const begun = performance.now()
    const late = await sh(`setsid sleep 987.2 & sleep 987.3`, { timeout: 300 })
    expect(late).toMatchObject({ exit_code: null, timed_out: true })
    expect(performance.now() - begun).toBeLessThan(5000)
    for (const number of ['987.1', '987.2', '987.3']) expect(named(`sleep ${number}`)).toEqual([])
  })
})

describe('its key', () => {
  it('runs it once: a repetition gets the first answer', async () => {
    const once = { idempotencyKey: 'once' }
    const command = `echo x >> ${place('count')}; cat ${place('count')}`
    expect(await sh(command, {}, once)).toEqual(await sh(command, {}, once))
    expect(readFileSync(place('count'), 'utf8')).toBe('x\n')
    expect(await refusal(sh('other', {}, once))).toBe('idempotency_key_reused')
  })

  it('tells of a run that goes on, though who began it has left, and of its end', async () => {
    const key = { idempotencyKey: 'goes-on' }
    const command = `echo $$ > ${place('pid')}; until [ -e ${place('go')} ]; do sleep 0.02; done; echo done`
    const first = await joinBus(testNats().url, 'objects')
    const asked = first.bus.call(
      run,
      { ...systemContext('objects'), ...key },
      { argv: ['sh', '-c', command], cwd: workDir, env: {}, stdin: '', timeout: 20_000 },
      { target: 'local', outlives: true },
    )
    asked.catch(() => undefined)
    const pid = await waitFor(() => Number(readFileSync(place('pid'), 'utf8')))
    await first.close()
    expect(await refusal(sh(command, {}, key))).toBe('idempotency_in_progress')
    expect(alive(pid)).toBe(true)
    writeFileSync(place('go'), '')
    const end = await waitFor(() => sh(command, {}, key))
    expect(end).toMatchObject({ exit_code: 0, stdout: 'done\n' })
  })

  it('is of unknown outcome when the host died meanwhile, and nothing of it lives on', async () => {
    const key = { idempotencyKey: 'dies' }
    const command = `echo begun > ${place('begun')}; sleep 987.4`
    sh(command, {}, key).catch(() => undefined)
    await waitFor(() => readFileSync(place('begun'), 'utf8'))
    await host.kill('SIGKILL')
    await host.startProcess()
    expect(await refusal(sh(command, {}, key))).toBe('outcome_unknown')
    await waitFor(() => named('sleep 987.4').length === 0)
  }, 60_000)
})

describe('programs of one lane', () => {
  it('run one after the other: one that is asked for meanwhile is begun when it is asked for again', async () => {
    const [lane, first, second] = ['lane', { idempotencyKey: 'lane-1' }, { idempotencyKey: 'lane-2' }]
    const [long, short] = [
      `echo begun > ${place('long')}; until [ -e ${place('end')} ]; do sleep 0.02; done; echo long >> ${place('order')}`,
      `echo short >> ${place('order')}`,
    ]
    const running = sh(long, { lane }, first)
    await waitFor(() => readFileSync(place('long'), 'utf8'))
    expect(await refusal(sh(short, { lane }, second))).toBe('idempotency_in_progress')
    expect(await refusal(sh(long, { lane }, first))).toBe('idempotency_in_progress')
    expect(await sh('echo other', { lane: 'another' })).toMatchObject({ stdout: 'other\n' })
    writeFileSync(place('end'), '')
    expect(await running).toMatchObject({ exit_code: 0 })
    expect(await sh(short, { lane }, second)).toMatchObject({ exit_code: 0 })
    expect(readFileSync(place('order'), 'utf8')).toBe('long\nshort\n')
  })

  it('go on after one that could not be started', async () => {
    expect(await refusal(ask({ lane: 'faulty', cwd: place('nowhere') }))).toBe('not_found')
    expect(await sh('echo on', { lane: 'faulty' })).toMatchObject({ stdout: 'on\n' })
  })
})

describe('what can not be run', () => {
  it('has one code each', async () => {
    writeFileSync(place('file'), 'no program')
    expect(await refusal(ask({ argv: ['no-such-program'] }))).toBe('not_found')
    expect(await refusal(ask({ cwd: place('nowhere') }))).toBe('not_found')
    expect(await refusal(ask({ cwd: place('file') }))).toBe('not_a_directory')
    expect(await refusal(ask({ argv: [place('file')] }))).toBe('file_access_denied')
  })

  it.each(['owner', 'node', 'app'] as const)('is anything that is asked for in the name of a %s', async (kind) => {
    const actor = { kind, principal: kind, tokenId: null, scopes: ['*'] }
    expect(await refusal(ask({ argv: ['touch', place(`by-${kind}`)] }, { actor }))).toBe('owner_required')
    expect(() => readFileSync(place(`by-${kind}`))).toThrow('ENOENT')
  })
})
