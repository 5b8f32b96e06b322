import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { contract, type InputOf, type OutputOf } from '#common/contract/index.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import { isSvcError } from '#common/kernel/errors.js'
import { newId } from '#common/kernel/ids.js'
import { joinBus, type TestPeer } from '#common/testing/bus.js'
import { natsUrlAs } from '#common/testing/nats.js'
import { NatsProcess } from '#common/testing/nats-process.js'
import { waitFor } from '#common/testing/wait-for.js'
import { readProcesses } from '#machine/process/process-table.js'

type Asked = InputOf<(typeof contract)['bash.run']>
type Answer = OutputOf<(typeof contract)['bash.run']>

const hostProgram = new URL('../../../../dist/apps/host/src/main.js', import.meta.url).pathname
const secrets = {
  OPENAI_API_KEY: 'sk-never-seen',
  DATABASE_URL: 'postgresql://never-seen',
  SVC_HEALTH_LISTEN: '127.0.0.1:0',
}

let nats: NatsProcess
let gateway: TestPeer
let lifecycle: TestPeer
let host: ChildProcess
let hellos = 0
const dataDir = mkdtempSync('/var/tmp/svc-bash-data-')
const workDir = mkdtempSync('/var/tmp/svc-bash-work-')
const otherDir = mkdtempSync('/var/tmp/svc-bash-other-')
const nodeId = newId('node')

const startHost = async (): Promise<void> => {
  const before = hellos
  host = spawn(process.execPath, [hostProgram], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TZ: 'Europe/Berlin',
      ...secrets,
      NATS_URL: natsUrlAs(nats.url, 'host'),
      SVC_DATA_DIR: dataDir,
      SVC_LOG_LEVEL: 'warn',
      SVC_BASH_CAP: '4',
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  await waitFor(() => hellos > before, { what: 'the first hello' })
}

beforeAll(async () => {
  nats = await NatsProcess.start('max_payload: 8388608')
  gateway = await joinBus(nats.url, 'gateway')
  lifecycle = await joinBus(nats.url, 'lifecycle', {
    operations: [contract['lifecycle.host.hello'], contract['lifecycle.host.exited']],
    handlers: {
      'lifecycle.host.hello': async () => {
        hellos += 1
        return { accepted: true }
      },
      'lifecycle.host.exited': async () => ({ noted: true }),
    },
  })
  await startHost()
})

afterAll(async () => {
  await stopHost('SIGTERM')
  await Promise.all([gateway.close(), lifecycle.close()])
  await nats.stop()
  for (const path of [dataDir, workDir, otherDir]) rmSync(path, { recursive: true, force: true })
})

const stopHost = async (signal: NodeJS.Signals): Promise<void> => {
  const gone = once(host, 'exit')
  host.kill(signal)
  await gone
}

const owner = { ...systemContext('gateway').actor, kind: 'owner' as const, principal: 'owner' }
const node = (scopes: string[] = [], cwd = workDir) => ({
  kind: 'node' as const,
  principal: `node:${nodeId}`,
  tokenId: 't',
  scopes: ['svc:llm', 'svc:act', ...scopes],
  nodeId,
  generation: 1,
  place: { cwd, host_id: 'local', git_dir: null },
})

const ask = (asked: Partial<Asked> & { command: string }, more: Partial<Context> = {}): Promise<Answer> =>
  gateway.bus.call(
    contract['bash.run'],
    { ...systemContext('gateway'), actor: owner, ...more },
    { cwd: workDir, timeout: 20_000, ...asked },
    { target: 'local' },
  )

const refusal = async (call: Promise<unknown>): Promise<string> => {
  const error = await call.then(
    (answer) => new Error(`it was answered: ${JSON.stringify(answer)}`),
    (thrown: unknown) => thrown,
  )
  if (isSvcError(error)) return error.code
  throw error
}

/** Processes whose command line holds this text, this test itself aside. */
const living = (text: string): number =>
  readProcesses().filter(({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(text)
    } catch {
      return false
    }
  }).length

describe('a command of the owner', () => {
  it('answers what it printed and how it ended, whatever its exit code', async () => {
    expect(await ask({ command: 'echo out; echo err >&2; exit 3' })).toMatchObject({
      exit_code: 3,
      signal: null,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
      timed_out: false,
      duration_ms: expect.any(Number),
    })
    expect(await ask({ command: 'kill -KILL $$' })).toMatchObject({ exit_code: null, signal: 'SIGKILL' })
    expect(await ask({ command: '-no-option' })).toMatchObject({ exit_code: 127 })
  })

  it('runs in its directory with the person’s environment, none of the daemon’s, and what the request adds', async () => {
    const { stdout } = await ask({ command: 'pwd; env', env: { COLOR: 'red', TZ: 'UTC' } })
    const [pwd, ...lines] = stdout.trim().split('\n')
    expect(pwd).toBe(workDir)
    expect(lines).toEqual(expect.arrayContaining([`HOME=${process.env.HOME}`, 'COLOR=red', 'TZ=UTC']))
    const names = lines.map((line) => line.split('=')[0])
    expect(names.filter((name) => /^(SVC_(?!\w+_MARK)|NATS|DATABASE|REDIS|OPENAI|NODE_)/.test(name as string))).toEqual(
      [],
    )
    expect(stdout).not.toContain('never-seen')
  })

  it('reads what the request sends, else nothing', async () => {
    expect((await ask({ command: 'wc -c', stdin: 'ä'.repeat(100_000) })).stdout.trim()).toBe('200000')
    expect((await ask({ command: 'cat; echo end' })).stdout).toBe('end\n')
    expect((await ask({ command: 'exit 4', stdin: 'x'.repeat(500_000) })).exit_code).toBe(4)
  })

  it('is refused where it can’t run', async () => {
    writeFileSync(join(workDir, 'file'), '')
    expect(await refusal(ask({ command: 'true', cwd: join(workDir, 'none') }))).toBe('not_found')
    expect(await refusal(ask({ command: 'true', cwd: join(workDir, 'file') }))).toBe('validation_failed')
    expect(await refusal(ask({ command: `: ${'x'.repeat(131_070)}` }))).toBe('validation_failed')
  })

  it('that takes too long is ended with all that it started', async () => {
    const command = 'setsid sleep 4001 & env -i setsid sleep 4002 & (trap "" TERM; sleep 4003) & echo begun; sleep 4004'
    const answer = await ask({ command, timeout: 2000 })
    expect(answer).toMatchObject({ exit_code: null, timed_out: true, stdout: 'begun\n' })
    expect(answer.duration_ms).toBeLessThan(20_000)
    expect(living('sleep 400')).toBe(0)
  })

  it('leaves nothing running, and what holds its output does not hold the answer', async () => {
    const answer = await ask({ command: 'sleep 4010 & setsid sleep 4011 & (setsid sleep 4012 &) ; echo done' })
    expect(answer).toMatchObject({ exit_code: 0, stdout: 'done\n' })
    expect(answer.duration_ms).toBeLessThan(15_000)
    expect(living('sleep 401')).toBe(0)
  })

  it('ends when its caller leaves', async () => {
    const leaving = new AbortController()
    const call = refusal(ask({ command: 'setsid sleep 4020 & sleep 4021' }, { signal: leaving.signal }))
    await waitFor(() => living('sleep 402') >= 2)
    leaving.abort()
    expect(await call).toBe('client_closed')
    await waitFor(() => living('sleep 402') === 0)
  })

  it('is refused beyond the cap, and runs again when there is room', async () => {
    const leaving = new AbortController()
    const calls = Array.from({ length: 4 }, () => refusal(ask({ command: 'sleep 4030' }, { signal: leaving.signal })))
    await waitFor(() => living('sleep 4030') === 4)
    expect(await refusal(ask({ command: 'true' }))).toBe('quota_exceeded')
    leaving.abort()
    await Promise.all(calls)
    await waitFor(async () => (await ask({ command: 'true' })).exit_code === 0)
    expect(living('sleep 4030')).toBe(0)
  })
})

describe('the output of a command', () => {
  it('of a gigabyte keeps its beginning and its end, and the host its memory', async () => {
    const before = residentOf(host)
    const answer = await ask({
      command: 'echo first; head -c 1073741824 /dev/zero | tr "\\0" a; echo; echo last',
      timeout: 80_000,
    })
    expect(answer).toMatchObject({ exit_code: 0, truncated: true })
    expect(answer.stdout).toMatch(/^first\na+\n\[… \d+ bytes left out …\]\na+\nlast\n$/)
    expect(answer.stdout.length).toBeLessThan(1024 * 1024 + 64)
    expect(residentOf(host) - before).toBeLessThan(120 * 1024 * 1024)
  }, 120_000)

  it('is cut between characters, and what is none is replaced', async () => {
    const { stdout } = await ask({ command: 'yes "🦉€é" | head -c 3000000' })
    expect(stdout.slice(0, 1000)).not.toContain('\ufffd')
    expect(stdout.split('bytes left out …]')[1]?.slice(0, 50)).not.toContain('\ufffd')
    expect((await ask({ command: String.raw`printf 'a\377b'` })).stdout).toBe('a\ufffdb')
  })

  it('of control characters alone fits into an answer', async () => {
    const { stdout, truncated } = await ask({ command: 'head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2' })
    expect(truncated).toBe(true)
    expect(stdout.length).toBeGreaterThan(400_000)
  })
})

const residentOf = ({ pid }: ChildProcess): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

describe('a command of a node', () => {
  it('runs in the node’s sandbox, without its token', async () => {
    writeFileSync(join(otherDir, 'secret'), 'never-seen')
    const answer = await ask(
      { command: `pwd; touch made; cat ${otherDir}/secret; ls ${dataDir}; env; ls /proc | grep -c '^[0-9]'` },
      { actor: node() },
    )
    expect(answer.stdout.split('\n')[0]).toBe(workDir)
    expect(answer.stdout + answer.stderr).not.toMatch(/never-seen|SVC_TOKEN|NATS_URL/)
    expect(statSync(join(workDir, 'made')).isFile()).toBe(true)
  })

  it('may begin in its working directory, its mounts, its home and its /tmp, and nowhere else', async () => {
    const actor = node([`svc:files:read:user:${otherDir}`])
    const pwd = async (cwd: string): Promise<string> => (await ask({ command: 'pwd', cwd }, { actor })).stdout.trim()
    mkdirSync(join(workDir, 'deep/er'), { recursive: true })
    expect(await pwd(join(workDir, 'deep/er'))).toBe(join(workDir, 'deep/er'))
    expect(await pwd(otherDir)).toBe(otherDir)
    expect(await pwd('/tmp')).toBe('/tmp')
    expect(await refusal(ask({ command: 'true', cwd: otherDir }, { actor: node() }))).toBe('path_outside_scope')
    expect(await refusal(ask({ command: 'true', cwd: `${otherDir}/none` }, { actor: node() }))).toBe(
      'path_outside_scope',
    )
    expect(await refusal(ask({ command: 'true', cwd: '/etc' }, { actor: node() }))).toBe('path_outside_scope')
    expect(await refusal(ask({ command: 'true', cwd: dataDir }, { actor: node() }))).toBe('path_outside_scope')
    expect(await refusal(ask({ command: 'true', cwd: join(workDir, 'none') }, { actor: node() }))).toBe('not_found')
    symlinkSync(otherDir, join(workDir, 'way-out'))
    expect(await refusal(ask({ command: 'true', cwd: join(workDir, 'way-out') }, { actor: node() }))).toBe(
      'path_outside_scope',
    )
  })

  it('is ended with all that it started: time-out, background, caller gone', async () => {
    const actor = node()
    const command = '(setsid env -i sleep 4041 &); trap "" TERM; echo begun; sleep 4042'
    expect(await ask({ command, timeout: 2000 }, { actor })).toMatchObject({ timed_out: true, stdout: 'begun\n' })
    expect(await ask({ command: '(setsid env -i sleep 4043 &); echo done' }, { actor })).toMatchObject({
      exit_code: 0,
      stdout: 'done\n',
    })
    const leaving = new AbortController()
    const call = refusal(
      ask({ command: '(setsid env -i sleep 4044 &); sleep 4045' }, { actor, signal: leaving.signal }),
    )
    await waitFor(() => living('sleep 4045') > 0)
    leaving.abort()
    await call
    await waitFor(() => living('sleep 404') === 0)
  })

  it('is for the owner and for nodes only', async () => {
    const actor = { ...owner, kind: 'app' as const, principal: 'app:a', appId: 'a', scopes: ['svc:llm', 'svc:act'] }
    expect(await refusal(ask({ command: 'true' }, { actor }))).toBe('node_token_required')
  })
})

describe('a repeated key', () => {
  const count = (name: string): number => readFileSync(join(workDir, name), 'utf8').length
  const keyed = (key: string, more: Partial<Context> = {}): Partial<Context> => ({ idempotencyKey: key, ...more })

  it('gets the first answer, and the command ran once', async () => {
    const asked = { command: 'printf x >> once; echo "$RANDOM$RANDOM"; exit 5' }
    const notes = {}
    const first = await ask(asked, keyed('once'))
    expect(await ask(asked, keyed('once', { notes }))).toEqual(first)
    expect(notes).toEqual({ replayed: true })
    expect(count('once')).toBe(1)
    expect(await refusal(ask({ command: 'true' }, keyed('once')))).toBe('idempotency_key_reused')
    const files = readdirSync(join(dataDir, 'bash'))
    expect(files).toHaveLength(1)
    expect(statSync(join(dataDir, 'bash', files[0] as string)).mode & 0o777).toBe(0o600)
  })

  it('of another principal is another key', async () => {
    await ask({ command: 'printf x >> twice' }, keyed('twice'))
    await ask({ command: 'printf x >> twice' }, keyed('twice', { actor: node() }))
    expect(count('twice')).toBe(2)
  })

  // A node knows the keys of its schedules' next firings: used before, they took a command away that it was given.
  it('of a schedule is nobody else’s, whatever token asks with it', async () => {
    const actor = { ...node(), tokenId: null }
    await ask({ command: 'printf x >> scheduled' }, keyed('cron:1', { actor: node() }))
    await ask({ command: 'printf x >> scheduled' }, keyed('cron:1', { actor }))
    await ask({ command: 'printf x >> scheduled' }, keyed('cron:1', { actor }))
    expect(count('scheduled')).toBe(2)
  })

  it('waits for the first to end, and hears of another body at once', async () => {
    const asked = { command: 'touch begun-a; until [ -e go-on ]; do sleep 0.02; done; echo gone on' }
    const first = ask(asked, keyed('slow'))
    await waitFor(() => readdirSync(workDir).includes('begun-a'))
    expect(await refusal(ask(asked, keyed('slow')))).toBe('idempotency_in_progress')
    expect(await refusal(ask({ command: 'true' }, keyed('slow')))).toBe('idempotency_key_reused')
    writeFileSync(join(workDir, 'go-on'), '')
    const answer = await first
    expect(await ask(asked, keyed('slow'))).toEqual(answer)
  })

  it('of a command that was refused is free again', async () => {
    const asked = { command: 'echo there', cwd: join(workDir, 'later') }
    expect(await refusal(ask(asked, keyed('later')))).toBe('not_found')
    mkdirSync(asked.cwd)
    expect((await ask(asked, keyed('later'))).stdout).toBe('there\n')
  })

  it('of a command whose caller left runs nothing again: its outcome is not known', async () => {
    const asked = { command: 'printf x >> left; sleep 4051' }
    const leaving = new AbortController()
    const call = refusal(ask(asked, keyed('left', { signal: leaving.signal })))
    await waitFor(() => living('sleep 4051') > 0)
    leaving.abort()
    await call
    await waitFor(async () => (await refusal(ask(asked, keyed('left')))) === 'outcome_unknown')
    expect(count('left')).toBe(1)
  })

  // The client tries again by itself when a host dies: the command would have run twice.
  it('of a command that a host died under runs nothing again, and what it left is ended', async () => {
    const asked = { command: 'printf x >> died; sleep 4061' }
    const leaving = new AbortController()
    const call = refusal(ask(asked, keyed('died', { signal: leaving.signal })))
    const sandboxed = refusal(ask({ command: 'sleep 4062' }, { actor: node(), signal: leaving.signal }))
    await waitFor(() => living('sleep 4061') > 0 && living('sleep 4062') > 0)
    await stopHost('SIGKILL')
    // bubblewrap ends with its parent but for a moment of its start; the next host ends what is left either way
    await startHost()
    await waitFor(() => living('sleep 4062') === 0)
    leaving.abort()
    await Promise.all([call, sandboxed])
    expect(await refusal(ask(asked, keyed('died')))).toBe('outcome_unknown')
    expect(living('sleep 4061')).toBe(0)
    expect(count('died')).toBe(1)
    expect((await ask({ command: 'printf x >> once; echo "$RANDOM$RANDOM"; exit 5' }, keyed('once'))).exit_code).toBe(5)
    expect(count('once')).toBe(1)
  })
})

describe('a host that stops', () => {
  it('ends its commands and says so', async () => {
    const call = refusal(ask({ command: 'setsid sleep 4071 & sleep 4072' }))
    await waitFor(() => living('sleep 407') >= 2)
    await stopHost('SIGTERM')
    expect(await call).toBe('service_unavailable')
    expect(living('sleep 407')).toBe(0)
    await startHost()
  })
})
