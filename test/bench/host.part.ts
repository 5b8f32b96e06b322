import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, open, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { loadSettings } from '#common/kernel/config.js'
import { loadNodeTokenKey } from '#common/kernel/node-token-key.js'
import { deriveNodeToken } from '#common/kernel/tokens.js'
import { waitFor } from '#common/testing/wait-for.js'
import { type Bench, type Part, rounds } from './bench.js'
import { privateMemoryOf, processesOf } from './process.meter.js'
import { most, type Row, rowsOf } from './row.js'
import { measure, spreadOf } from './stats.js'

const group = 'host'
const mebibyte = 1024 * 1024

/** What the host does on the machine, through `/v1` where a route leads there. */
export const host: Part = async (bench) => [
  ...(await writes(bench)),
  ...(await commands(bench)),
  ...(await lists(bench)),
  ...(await idleBrokers(bench)),
]

/** One MiB, replaced as a whole and durable before the answer; beside it the same steps without the daemon. */
const writes = async (bench: Bench): Promise<Row[]> => {
  const { daemon, load, wire } = bench
  const path = join(daemon.workDir, 'one-mebibyte.txt')
  const floor = await rounds(bench, 30, (count) => measure(count, 1, () => writeDurably(`${path}.floor`)))
  const found = await rounds(bench, 30, (count) => load.run('write', { wire, path, bytes: mebibyte, count, width: 1 }))
  return [
    ...rowsOf(group, 'durable file of 1 MiB, without the daemon', floor, { p50: {} }),
    ...rowsOf(group, 'files.write of 1 MiB', found, {
      p50: { target: most(8), floor: 'durable file of 1 MiB, without the daemon, p50', cpu: found.cpu },
      p99: {},
    }),
  ]
}

const content = Buffer.alloc(mebibyte, 'a')

const writeDurably = async (path: string): Promise<void> => {
  const file = await open(`${path}.new`, 'w')
  await file.write(content)
  await file.sync()
  await file.close()
  await rename(`${path}.new`, path)
  const directory = await open(join(path, '..'), 'r')
  await directory.sync()
  await directory.close()
}

/** `true` by the owner, and by a node in its sandbox; beside it the sandbox program alone. */
const commands = async (bench: Bench): Promise<Row[]> => {
  const { daemon, load, wire } = bench
  const body = { cwd: daemon.workDir, command: 'true' }
  const owner = await rounds(bench, 60, (count) => load.run('post', { wire, path: '/v1/bash', body, count, width: 1 }))
  const client = daemon.client()
  const node = await client.nodes.create({
    prompt: 'Wait',
    cwd: daemon.workDir,
    engine: 'exec',
    exec: { argv: ['sleep', '600'] },
  })
  const key = loadNodeTokenKey(loadSettings(daemon.env))
  const asNode = { url: wire.url, token: deriveNodeToken(key, node.id, node.generation) }
  const sandboxed = await rounds(bench, 60, (count) =>
    load.run('post', { wire: asNode, path: '/v1/bash', body, count, width: 1 }),
  )
  await client.nodes.cancel(node.id)
  return [
    ...(await bareSandbox(bench)),
    ...rowsOf(group, 'bash.run of true, owner', owner, { p50: {} }),
    ...rowsOf(group, 'bash.run of true, sandboxed', sandboxed, {
      p50: { target: most(15), floor: 'bwrap of true, p50', cpu: sandboxed.cpu },
      p99: {},
    }),
  ]
}

const bubblewrap = '/usr/bin/bwrap'
const bareArguments = ['--unshare-user', '--unshare-pid', '--ro-bind', '/', '/', '--proc', '/proc', 'true']

const bareSandbox = async (bench: Bench): Promise<Row[]> => {
  if (!existsSync(bubblewrap)) return []
  const found = await rounds(bench, 60, (count) =>
    measure(count, 1, async () => {
      await once(spawn(bubblewrap, bareArguments, { stdio: 'ignore' }), 'exit')
    }),
  )
  return rowsOf(group, 'bwrap of true', found, { p50: {} })
}

const entries = 100_000

/** The first and the hundredth page of a directory of a hundred thousand files. */
const lists = async (bench: Bench): Promise<Row[]> => {
  const { daemon, load, wire, options } = bench
  const path = join(daemon.workDir, 'many')
  await mkdir(path)
  const count = options.quick ? entries / 20 : entries
  for (let at = 0; at < count; at += 500) {
    await Promise.all(Array.from({ length: 500 }, (_, offset) => writeFile(join(path, `entry-${at + offset}`), '')))
  }
  const found = await rounds(bench, 10, (times) =>
    load.run('get', { wire, path: `/v1/files/list?path=${encodeURIComponent(path)}`, count: times, width: 1 }),
  )
  const whole = await load.run('wholeList', { wire, path })
  if (whole.entries !== count) throw new Error(`${whole.entries} of ${count} entries were listed`)
  return [
    ...rowsOf(group, `files.list, a page of ${count.toLocaleString('en')} entries`, found, { p50: { cpu: found.cpu } }),
    {
      group,
      name: `files.list, all ${count.toLocaleString('en')} entries by pages`,
      unit: 'ms',
      value: spreadOf([whole.ms]),
    },
  ]
}

/** Resident nodes whose programs wait: what each keeps in memory that no other process shares. */
const idleBrokers = async (bench: Bench): Promise<Row[]> => {
  const { daemon, options } = bench
  const client = daemon.client()
  const before = new Set(processesOf(daemon).brokers.map(({ pid }) => pid))
  const count = options.quick ? 8 : 60
  const nodes = await Promise.all(
    Array.from({ length: count }, () =>
      client.nodes.create({ prompt: 'Wait', cwd: daemon.workDir, engine: 'exec', exec: { argv: ['cat'] } }),
    ),
  )
  const isBound = async (id: string): Promise<boolean> => (await client.nodes.retrieve(id)).broker !== null
  const pids = await Promise.all(
    nodes.map(({ id }) =>
      waitFor(async () => ((await isBound(id)) ? (await client.nodes.retrieve(id)).broker?.pid : undefined), {
        timeout: 60_000,
        what: 'a bound broker',
      }),
    ),
  )
  const each = pids.map((pid) => privateMemoryOf([pid]))
  await Promise.all(nodes.map(({ id }) => client.nodes.cancel(id)))
  await waitFor(() => processesOf(daemon).brokers.every(({ pid }) => before.has(pid) || !pids.includes(pid)), {
    timeout: 60_000,
    what: 'the end of the brokers',
  })
  return [
    {
      group,
      name: `private memory of one of ${count} live idle brokers`,
      unit: 'MB',
      value: spreadOf(each),
      target: most(25),
    },
  ]
}
