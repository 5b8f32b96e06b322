import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { projectRoot } from '#apps/daemon/src/project-root.js'
import { waitFor } from '#common/testing/wait-for.js'
import { readProcesses } from '#machine/process/process-table.js'
import type { BashResult } from '#sdk/index.js'
import { svc } from '../support/command.js'
import { TestDaemon } from '../support/daemon.js'

let daemon: TestDaemon
const elsewhere = mkdtempSync('/var/tmp/svc-bash-e2e-')

beforeAll(async () => {
  daemon = await TestDaemon.start({ env: { ANTHROPIC_API_KEY: 'never-seen' } })
})
afterAll(async () => {
  await daemon.stop()
  rmSync(elsewhere, { recursive: true, force: true })
})

const at = (name: string): string => join(daemon.workDir, name)
const bash = (command: string, more: { timeout?: number; stdin?: string } = {}, options = {}): Promise<BashResult> =>
  daemon.client().bash.run({ cwd: daemon.workDir, command, ...more }, options)
const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'answered',
    (error) => error.code,
  )

/** Processes whose command line holds this text. */
const living = (text: string): number => readProcesses().filter(({ pid }) => commandLine(pid).includes(text)).length

const commandLine = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    return ''
  }
}

describe('POST /v1/bash as the owner', () => {
  it('answers exit codes, signals and outputs as values', async () => {
    expect(await bash('cat; echo oops >&2; exit 3', { stdin: 'given' })).toMatchObject({
      exit_code: 3,
      signal: null,
      stdout: 'given',
      stderr: 'oops\n',
      timed_out: false,
      truncated: false,
    })
    expect(await bash('kill -TERM $$')).toMatchObject({ exit_code: null, signal: 'SIGTERM' })
    const { stdout } = await bash('env')
    expect(stdout).not.toMatch(/never-seen|SVC_(DATA_DIR|BASE_URL|TOKEN)|NATS_URL|DATABASE_URL/)
  })

  it('ends a command whose time is up, children in sessions and environments of their own too', async () => {
    const answer = await bash('setsid sleep 5101 & setsid env -i sleep 5102 & sleep 5103', { timeout: 400 })
    expect(answer).toMatchObject({ timed_out: true, exit_code: null })
    expect(answer.duration_ms).toBeLessThan(20_000)
    expect(living('sleep 510')).toBe(0)
  })

  it('ends a command whose client disconnects', async () => {
    const leaving = new AbortController()
    const call = codeOf(bash('setsid env -i sleep 5111 & sleep 5112', {}, { signal: leaving.signal }))
    await waitFor(() => living('sleep 511') >= 2)
    leaving.abort()
    await call
    await waitFor(() => living('sleep 511') === 0)
  })

  it('keeps head and tail of a gigabyte', async () => {
    const { stdout, truncated } = await bash('echo first; head -c 1073741824 /dev/zero | tr "\\0" a; echo; echo last')
    expect(truncated).toBe(true)
    expect(stdout).toMatch(/^first\na+\n\[… \d+ bytes left out …\]\na+\nlast\n$/)
    expect(Buffer.byteLength(stdout)).toBeLessThan(1024 * 1024 + 64)
  })

  it('runs a command once, however often its key comes', async () => {
    const options = { headers: { 'Idempotency-Key': 'once' } }
    const first = await bash('printf x >> once; echo $RANDOM', {}, options)
    expect(await bash('printf x >> once; echo $RANDOM', {}, options)).toEqual(first)
    expect(await codeOf(bash('true', {}, options))).toBe('idempotency_key_reused')
    expect(readFileSync(at('once'), 'utf8')).toBe('x')
  })
})

describe('svc bash', () => {
  it('prints what the command prints and exits as it does', async () => {
    const end = await svc(daemon, ['bash', 'echo out; echo err >&2; exit 9'])
    expect(end).toEqual({ code: 9, stdout: 'out\n', stderr: 'err\n' })
    expect(await svc(daemon, ['bash', '--', 'printf', '%s\n', 'a b', "it's"])).toMatchObject({
      code: 0,
      stdout: "a b\nit's\n",
    })
    expect((await svc(daemon, ['bash', '--timeout', '200', 'sleep 60'])).code).toBe(124)
  })

  it('ends the command with Ctrl-C', async () => {
    const env = { ...daemon.env, SVC_BASE_URL: daemon.baseUrl }
    const child = spawn(join(projectRoot, 'bin/svc'), ['bash', 'sleep 5121'], { env, cwd: daemon.workDir })
    await waitFor(() => living('sleep 5121') === 2 || living('bash -c -- sleep 5121') > 0 || running('sleep 5121'))
    child.kill('SIGINT')
    const [code] = await once(child, 'exit')
    expect(code).toBe(130)
    await waitFor(() => !running('sleep 5121'))
  })
})

const running = (line: string): boolean => readProcesses().some(({ pid }) => commandLine(pid).trim() === line)

describe('POST /v1/bash with a node’s token', () => {
  it('runs in the node’s sandbox, by the command and by HTTP', async () => {
    writeFileSync(join(elsewhere, 'secret'), 'never-seen')
    const attempt = `cat ${elsewhere}/secret ${daemon.data.path}/owner.token; echo there: $(pwd); touch made`
    const script = `
      svc bash --json '${attempt}' > by-command.json
      svc bash --cwd ${elsewhere} true 2> refused.txt; echo $? > refused.code
      curl -s -H "Authorization: Bearer $SVC_TOKEN" -H 'content-type: application/json' \\
        -d '{"cwd":"${daemon.workDir}","command":"echo by curl; id -u"}' "$SVC_BASE_URL/v1/bash" > by-curl.json
      printf %s "$SVC_TOKEN" > token`
    const client = daemon.client()
    const outcome = await client.nodes.createAndWait({
      prompt: 'go',
      cwd: daemon.workDir,
      engine: 'exec',
      exec: { argv: ['bash', '-c', script] },
    })
    expect(outcome.status).toBe('done')
    const byCommand = JSON.parse(readFileSync(at('by-command.json'), 'utf8')) as BashResult
    expect(byCommand.stdout).toBe(`there: ${daemon.workDir}\n`)
    expect(byCommand.stdout + byCommand.stderr).not.toContain('never-seen')
    expect(existsSync(at('made'))).toBe(true)
    expect(readFileSync(at('refused.code'), 'utf8').trim()).toBe('6')
    expect(readFileSync(at('refused.txt'), 'utf8')).toContain('path_outside_scope')
    expect(JSON.parse(readFileSync(at('by-curl.json'), 'utf8'))).toMatchObject({
      exit_code: 0,
      stdout: expect.stringContaining('by curl'),
    })
  })

  it('ends with all that it started, wherever that went', async () => {
    const client = daemon.client({ token: readFileSync(at('token'), 'utf8') })
    const run = (command: string, timeout: number) => client.bash.run({ cwd: daemon.workDir, command, timeout })
    expect(await run('(setsid env -i sleep 5131 &); sleep 5132', 400)).toMatchObject({ timed_out: true })
    expect(await run('(setsid env -i sleep 5133 &); echo done', 10_000)).toMatchObject({ stdout: 'done\n' })
    expect(living('sleep 513')).toBe(0)
  })
})

describe('a host that is killed under a command', () => {
  it('answers the repeated key outcome_unknown, runs nothing again and leaves nothing', async () => {
    const leaving = new AbortController()
    const options = { headers: { 'Idempotency-Key': 'killed' }, timeout: 40_000, maxRetries: 20 }
    const call = codeOf(bash('printf x >> killed; sleep 5141', {}, { ...options, signal: leaving.signal }))
    await waitFor(() => living('sleep 5141') > 0)
    process.kill(daemon.processes.find('host')!.pid, 'SIGKILL')
    await waitFor(() => daemon.processes.find('host'))
    const again = { headers: options.headers, maxRetries: 0, timeout: 5000 }
    await waitFor(async () => (await codeOf(bash('printf x >> killed; sleep 5141', {}, again))) === 'outcome_unknown', {
      timeout: 60_000,
    })
    expect(readFileSync(at('killed'), 'utf8')).toBe('x')
    await waitFor(() => living('sleep 5141') === 0)
    expect(await Promise.race([call, Promise.resolve('still waits')])).toMatch(/still waits|outcome_unknown/)
    // It would go on trying after the suite.
    leaving.abort()
    await call
  })
})

describe('a daemon that is killed under a command', () => {
  // The host, which lives on, let it run until its time-out.
  it('leaves it to the host, which ends it at the next beat', async () => {
    const call = codeOf(bash('sleep 5151', { timeout: 300_000 }, { maxRetries: 0 }))
    await waitFor(() => living('sleep 5151') > 0)
    daemon.processes.kill('daemon')
    await call
    await waitFor(() => living('sleep 5151') === 0, { what: 'the end of the command' })
    expect(daemon.processes.find('host')).toBeDefined()
    await daemon.startAgain()
    expect(await bash('echo again')).toMatchObject({ stdout: 'again\n' })
  })
})
