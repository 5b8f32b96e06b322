import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Redis } from 'ioredis'
import pg from 'pg'
import { waitFor } from '../../testing/wait-for.js'
import { openDataDirectory } from './data-directory.js'
import { acquireDataLock, DataDirectoryBusy, lockHolder } from './data-lock.js'
import { processesOf } from './directory-processes.js'
import { readIfPresent } from './private-file.js'
import { type PrivateServers, startPrivateServers } from './private-servers.js'
import { isAlive, ownIdentity, parseIdentity } from './process-identity.js'
import { silentLog } from './server-log.js'

let dataDir: string
let servers: PrivateServers | undefined

const start = async (): Promise<PrivateServers> => {
  servers = await startPrivateServers({ dataDir, log: silentLog, mayInstall: false })
  return servers
}

/** A launcher in a process of its own; prints a line when the servers are up. */
const launchElsewhere = async (): Promise<ChildProcess> => {
  const script = `
    import { startPrivateServers } from '#common/kernel/servers/private-servers.js'
    import { silentLog } from '#common/kernel/servers/server-log.js'
    await startPrivateServers({ dataDir: process.argv[1], log: silentLog, mayInstall: false })
    console.log('up')
    process.stdin.resume()`
  const env = { ...process.env, NODE_OPTIONS: '' }
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script, dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env,
  })
  await once(child.stdout, 'data')
  return child
}

const query = async (url: string, text: string): Promise<unknown[]> => {
  const client = new pg.Client({ connectionString: url })
  // A server that is killed under the connection is what some of these tests are about.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** A process that has ended, with a parent that never asks for its end: a shell would, and so is another program by then. */
const zombieNamed = async (name: string): Promise<{ pid: number; parent: ChildProcess }> => {
  const program = join(mkdtempSync(join(dataDir, 'programs-')), name)
  copyFileSync('/bin/cat', program)
  chmodSync(program, 0o755)
  const stdio = ['ignore', 'pipe', 'ignore', 'pipe'] as const
  const parent = spawn('sh', ['-c', '"$0" <&3 & echo $!; exec sleep 60', program], { stdio: [...stdio] })
  const [line] = (await once(parent.stdout as Readable, 'data')) as [Buffer]
  const pid = Number(line)
  const nameOf = (process: number | undefined): string => readFileSync(`/proc/${process}/comm`, 'utf8').trim()
  await waitFor(() => nameOf(parent.pid) === 'sleep', { what: 'the parent' })
  ;(parent.stdio[3] as Writable).end()
  await waitFor(() => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(`(${name}) Z`), { what: 'the zombie' })
  return { pid, parent }
}

const pidOf = (name: string): number | undefined =>
  parseIdentity(readIfPresent(join(dataDir, 'run', `${name}.pid`)) ?? '')?.pid

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'svc-servers-'))
})

afterEach(async () => {
  await servers?.stop()
  servers = undefined
  rmSync(dataDir, { recursive: true, force: true })
})

describe('starting on a blank directory', () => {
  it('brings up all three, private and without a public port', async () => {
    const { databaseUrl, natsUrl, redisUrl, started } = await start()

    expect(started.map(({ origin }) => origin)).toEqual(['started', 'started', 'started'])
    expect(await query(databaseUrl, 'show listen_addresses')).toEqual([{ listen_addresses: '' }])
    expect(new URL(natsUrl).hostname).toBe('127.0.0.1')
    const redis = new Redis(redisUrl)
    expect(await redis.config('GET', 'port')).toEqual(['port', '0'])
    expect(await redis.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
    redis.disconnect()
    for (const secret of ['postgres.password', 'nats.svc.password', 'redis.password', 'nats.conf', 'redis.conf']) {
      expect(statSync(join(dataDir, 'secrets', secret)).mode & 0o777).toBe(0o600)
    }
  })

  it('refuses a wrong password on the database', async () => {
    const { databaseUrl } = await start()
    const url = new URL(databaseUrl)
    url.password = 'wrong'

    await expect(query(url.href, 'select 1')).rejects.toMatchObject({ code: '28P01' })
  })

  it('finds a short way to the sockets of a long directory', async () => {
    dataDir = join(dataDir, 'x'.repeat(110))

    const { databaseUrl } = await start()

    expect(await query(databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }])
  })
})

describe('starting again', () => {
  it('keeps the data and the addresses', async () => {
    const first = await start()
    await query(first.databaseUrl, 'create table kept as select 42 as answer')
    await first.stop()
    expect(processesOf(openDataDirectory(dataDir))).toEqual([])

    const second = await start()

    expect(await query(second.databaseUrl, 'select answer from kept')).toEqual([{ answer: 42 }])
    expect([second.databaseUrl, second.natsUrl, second.redisUrl]).toEqual([
      first.databaseUrl,
      first.natsUrl,
      first.redisUrl,
    ])
  })

  it('adopts the servers that a killed launcher left behind', async () => {
    const launcher = await launchElsewhere()
    const left = ['postgres', 'nats', 'redis'].map(pidOf)
    launcher.kill('SIGKILL')
    await once(launcher, 'exit')

    const { started } = await start()

    expect(started.map(({ origin }) => origin)).toEqual(['adopted', 'adopted', 'adopted'])
    expect(['postgres', 'nats', 'redis'].map(pidOf)).toEqual(left)
  })

  // Redis once wrote its title over the mark in its environment: the stray stayed, with the new one at the same socket
  it.each(['postgres', 'nats', 'redis'])(
    'clears away %s when its launcher died before it could note it',
    async (name) => {
      const first = await start()
      first.release()
      const stray = parseIdentity(readFileSync(join(dataDir, 'run', `${name}.pid`), 'utf8'))
      rmSync(join(dataDir, 'run', `${name}.pid`))

      const { started } = await start()

      expect(started.find(({ server }) => server === name)?.origin).toBe('started')
      expect(stray && isAlive(stray)).toBe(false)
    },
  )
})

describe('a killed Postgres', () => {
  it('is started again while nobody has reaped it', async () => {
    const first = await start()
    await query(first.databaseUrl, 'create table kept as select 42 as answer')
    await first.stop()
    const zombie = await zombieNamed('postgres')
    const lock = ['/var/lib', 1700000000, 5432, '/run', '', '  5432001     32768', 'ready'].join('\n')
    writeFileSync(join(dataDir, 'postgres', 'postmaster.pid'), `${zombie.pid}\n${lock}\n`)

    const second = await start()

    expect(await query(second.databaseUrl, 'select answer from kept')).toEqual([{ answer: 42 }])
    zombie.parent.kill('SIGKILL')
  })
})

describe('a server that dies', () => {
  it.each(['postgres', 'nats', 'redis'])('is started again at the same address: %s', async (name) => {
    const { databaseUrl, natsUrl, redisUrl } = await start()
    const killed = pidOf(name)
    if (killed === undefined) throw new Error(`${name} has no pid file`)

    process.kill(killed, 'SIGKILL')

    await waitFor(() => pidOf(name) !== killed, { what: 'a new process' })
    if (name === 'postgres') await waitFor(() => query(databaseUrl, 'select 1'))
    if (name === 'nats') await waitFor(() => reachable(new URL(natsUrl)))
    if (name === 'redis') {
      const redis = new Redis(redisUrl)
      redis.on('error', () => undefined)
      expect(await redis.ping()).toBe('PONG')
      redis.disconnect()
    }
  })
})

describe('the lock of a data directory', () => {
  it('refuses a second holder and names the first', () => {
    const data = openDataDirectory(dataDir)
    const lock = acquireDataLock(data)
    expect(lockHolder(data)).toEqual(ownIdentity())

    expect(() => acquireDataLock(data)).toThrow(DataDirectoryBusy)
    expect(() => acquireDataLock(data)).toThrow(`pid ${process.pid}`)

    lock.release()
    expect(lockHolder(data)).toBeUndefined()
  })

  it('is taken over from a holder that was killed', async () => {
    const data = openDataDirectory(dataDir)
    const script = `
      import { openDataDirectory } from '#common/kernel/servers/data-directory.js'
      import { acquireDataLock } from '#common/kernel/servers/data-lock.js'
      acquireDataLock(openDataDirectory(process.argv[1]))
      console.log('locked')
      process.stdin.resume()`
    const holder = spawn(process.execPath, ['--input-type=module', '--eval', script, dataDir], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    await once(holder.stdout, 'data')
    expect(() => acquireDataLock(data)).toThrow(`pid ${holder.pid}`)

    holder.kill('SIGKILL')
    await once(holder, 'exit')

    acquireDataLock(data).release()
  })
})

const reachable = async ({ hostname, port }: URL): Promise<boolean> => {
  const socket = connect(Number(port), hostname)
  const [greeting] = await once(socket, 'data')
  socket.destroy()
  return String(greeting).startsWith('INFO ')
}
