import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { openDataDirectory } from '#common/kernel/servers/data-directory.js'
import { processesOf } from '#common/kernel/servers/directory-processes.js'
import { signal } from '#common/kernel/servers/process-identity.js'
import { waitFor } from '#common/testing/wait-for.js'
import { readDaemonFile } from './daemon-file.js'
import { projectRoot } from './project-root.js'

let dataDir: string
let started: ChildProcess[] = []
/** For processes that start and end, two or three at a time, on a busy machine. */
const patience = { timeout: 40_000 }
/** Settings of one test. */
let more: NodeJS.ProcessEnv = {}

/** The launcher without services: what is tested is what it does around them. */
const launch = (services = '[]'): ChildProcess => {
  const script = `import { serve } from '#apps/daemon/src/serve.js'; await serve(${services})`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: projectRoot,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...environment(), NODE_OPTIONS: '' },
  })
  started.push(child)
  return child
}

const environment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SVC_|DATABASE_URL|NATS_URL|REDIS_URL)/.test(name)),
  ),
  SVC_DATA_DIR: dataDir,
  SVC_LOG_LEVEL: 'debug',
  SVC_INSTALL_PACKAGES: 'never',
  ...more,
})

const launchUntilReady = async (): Promise<ChildProcess> => {
  const child = launch()
  await waitFor(() => readDaemonFile({ run: join(dataDir, 'run') })?.pid === child.pid, { ...patience, what: 'ready' })
  return child
}

/** Without services nobody hears the host. One that serves survives the end of the bus; one that still starts does not. */
const hostServes = () =>
  waitFor(() => readFileSync(join(dataDir, 'log/host.log'), 'utf8').includes('"msg":"serving"'), {
    ...patience,
    what: 'the host',
  })

const end = async (child: ChildProcess, name: NodeJS.Signals): Promise<number | null> => {
  const ended = once(child, 'exit')
  child.kill(name)
  const [code] = await ended
  return code
}

const marked = (): number[] => processesOf(openDataDirectory(dataDir)).map(({ pid }) => pid)

beforeEach(() => {
  more = {}
  dataDir = mkdtempSync(join(tmpdir(), 'svc-daemon-'))
})

afterEach(async () => {
  for (const child of started) child.kill('SIGKILL')
  started = []
  const data = openDataDirectory(dataDir)
  for (const identity of processesOf(data)) signal(identity, 'SIGKILL')
  await waitFor(() => processesOf(data).length === 0, { ...patience, what: 'the end of all processes' })
  rmSync(dataDir, { recursive: true, force: true })
})

describe('starting', () => {
  it('makes the keys and says where it serves once it is ready', async () => {
    const child = await launchUntilReady()

    expect(readDaemonFile({ run: join(dataDir, 'run') })).toMatchObject({
      pid: child.pid,
      base_url: 'http://127.0.0.1:7420',
      socket: join(dataDir, 'run', 'owner.sock'),
    })
    for (const key of ['credentials.key', 'node-token.key']) {
      const path = join(dataDir, 'keys', key)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      expect(Buffer.from(readFileSync(path, 'utf8'), 'base64')).toHaveLength(32)
    }
  })

  /** A service that has heard what it works with once there is a file `heard`, and counts how often it was asked. */
  const hearing = (): string => `[{ name: 'lifecycle', load: async () => {
    const { appendFileSync, existsSync } = await import('node:fs')
    const complete = () => { appendFileSync('${dataDir}/asked', '.'); return existsSync('${dataDir}/heard') }
    return { service: { name: 'lifecycle', module: () => class {}, complete } }
  } }]`
  const asked = (): number => (existsSync(join(dataDir, 'asked')) ? statSync(join(dataDir, 'asked')).size : 0)

  // It said so half a second before its host was there, and whoever started a job at once was refused.
  it('is not ready before its host was heard', async () => {
    const child = launch(hearing())
    await waitFor(() => asked() > 5, { ...patience, what: 'looks for the host' })
    expect(readDaemonFile({ run: join(dataDir, 'run') })).toBeUndefined()
    writeFileSync(join(dataDir, 'heard'), '')
    await waitFor(() => readDaemonFile({ run: join(dataDir, 'run') })?.pid === child.pid, {
      ...patience,
      what: 'ready',
    })
    expect(readDaemonFile({ run: join(dataDir, 'run') })).toMatchObject({ heard: true })
  })

  it('is ready without a host that does not come, and says so', async () => {
    const child = launch(hearing())
    let said = ''
    child.stdout?.on('data', (piece) => {
      said += piece
    })
    await waitFor(() => said.includes('is ready'), { ...patience, what: 'ready' })
    expect(said).toContain('its host is not heard yet')
  })

  it('refuses a directory that another daemon serves, and names its pid', async () => {
    const first = await launchUntilReady()
    const second = launch()
    let said = ''
    second.stderr?.on('data', (piece) => {
      said += piece
    })

    const [code] = await once(second, 'exit')

    expect(code).not.toBe(0)
    expect(said).toContain(`pid ${first.pid}`)
  })

  it('stops what did start when a service does not', async () => {
    const child = launch(`[{ name: 'models', load: async () => { throw new Error('no such model of a service') } }]`)
    let said = ''
    child.stderr?.on('data', (piece) => {
      said += piece
    })

    const [code] = await once(child, 'exit')

    expect(code).not.toBe(0)
    expect(said).toContain('no such model of a service')
    expect(marked()).toEqual([])
    expect(existsSync(join(dataDir, 'run/daemon.lock'))).toBe(false)
  })

  it('starts again after it was killed, with the same keys', async () => {
    const first = await launchUntilReady()
    const key = readFileSync(join(dataDir, 'keys/credentials.key'), 'utf8')
    await end(first, 'SIGKILL')

    await launchUntilReady()

    expect(readFileSync(join(dataDir, 'keys/credentials.key'), 'utf8')).toBe(key)
  })
})

describe('stopping', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('ends in order on %s and leaves the host running', async (name) => {
    const child = await launchUntilReady()

    expect(await end(child, name)).toBe(0)

    expect(existsSync(join(dataDir, 'run/daemon.json'))).toBe(false)
    expect(JSON.parse(readFileSync(join(dataDir, 'run/down.done.json'), 'utf8'))).toEqual({ nodes: false, left: [] })
    for (const server of ['postgres', 'nats', 'redis']) {
      expect(existsSync(join(dataDir, `run/${server}.pid`))).toBe(false)
    }
    expect(existsSync(join(dataDir, 'run/host.pid'))).toBe(true)
  })

  // A changed sandbox setting did nothing: the host of before was adopted with what it had read at its own start.
  it('takes over the host of before, unless that started with other settings', async () => {
    const hostOf = (): string => readFileSync(join(dataDir, 'run', 'host.pid'), 'utf8')
    const first = await launchUntilReady()
    await hostServes()
    await end(first, 'SIGTERM')
    const before = hostOf()
    await end(await launchUntilReady(), 'SIGTERM')
    expect(hostOf()).toBe(before)
    more = { SVC_BASH_CAP: '7' }
    await end(await launchUntilReady(), 'SIGTERM')
    expect(hostOf()).not.toBe(before)
  })

  it('leaves no process behind when nodes are to stop too', async () => {
    const child = await launchUntilReady()
    writeFileSync(join(dataDir, 'run/down.json'), JSON.stringify({ nodes: true }))

    expect(await end(child, 'SIGTERM')).toBe(0)

    expect(JSON.parse(readFileSync(join(dataDir, 'run/down.done.json'), 'utf8'))).toEqual({ nodes: true, left: [] })
    expect(marked()).toEqual([])
  })

  it('says what is wrong with a setting and starts nothing', async () => {
    const main = join(projectRoot, 'dist/apps/daemon/src/main.js')
    const run = promisify(execFile)(process.execPath, [main], {
      env: { ...environment(), SVC_OWNER_LISTEN: 'nowhere', NODE_OPTIONS: '' },
    })

    await expect(run).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('SVC_OWNER_LISTEN') })
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false)
  })
})
