import { writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { waitFor } from '#common/testing/wait-for.js'
import { TestDaemon } from '../support/daemon.js'
import type { Bench, BenchOptions, Part } from './bench.js'
import { canvas } from './canvas.part.js'
import { command } from './command.part.js'
import { crons } from './crons.part.js'
import { floors } from './floors.part.js'
import { host } from './host.part.js'
import type { LoadTasks } from './load.main.js'
import { machine, spin } from './machine.js'
import type { MockTasks } from './mock.main.js'
import { nodes } from './nodes.part.js'
import { objects } from './objects.part.js'
import { summaryOf } from './profile.js'
import { isReached, type Row } from './row.js'
import { runs } from './runs.part.js'
import { start } from './start.part.js'
import { ratioOf, tableOf } from './table.js'
import { trust } from './trust.part.js'
import { watch } from './watch.part.js'
import { Worker } from './worker.js'

/** In this order; the daemons of `start` and of those behind it are others. */
const parts: Readonly<Record<string, Part>> = {
  floors,
  nodes,
  trust,
  runs,
  watch,
  host,
  command,
  start,
  canvas,
  crons,
  objects,
}

const optionsOf = (args: string[]): BenchOptions => {
  const { values } = parseArgs({
    args: args.filter((arg) => arg !== '--'),
    options: {
      only: { type: 'string', multiple: true, default: [] },
      json: { type: 'string', default: 'bench-results.json' },
      quick: { type: 'boolean', default: false },
      scale: { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  })
  const { only, json, quick, scale, profile } = values
  const unknown = only.filter((name) => !(name in parts))
  if (unknown.length) throw new Error(`no part ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`)
  return { only, json, quick, scale, ...(profile !== undefined && { profile: resolve(profile) }) }
}

const stopServing = async ({ processes }: TestDaemon): Promise<void> => {
  const daemon = processes.find('daemon')
  if (daemon) process.kill(daemon.pid, 'SIGTERM')
  await waitFor(() => !processes.find('daemon'), { timeout: 60_000, what: 'the end of the daemon' })
}

const measureAll = async (options: BenchOptions): Promise<Row[]> => {
  const profiling = options.profile && `--cpu-prof --cpu-prof-dir=${options.profile}`
  const daemon = await TestDaemon.start(profiling ? { env: { NODE_OPTIONS: profiling } } : {})
  const load = Worker.start<LoadTasks>('load.main.js')
  const mock = Worker.start<MockTasks>('mock.main.js')
  const database = await daemon.database()
  const rows: Row[] = []
  try {
    const base_url = await mock.run('baseUrl', null)
    await daemon.client().models.config.update({
      providers: { mock: { type: 'openai-compatible', base_url } },
      ladders: { medium: ['mock/m-1'] },
    })
    const wire = { url: daemon.baseUrl, token: daemon.token }
    const bench: Bench = { daemon, load, mock, wire, database, options }
    for (const [name, part] of Object.entries(parts)) {
      if (options.only.length && !options.only.includes(name)) continue
      process.stderr.write(`bench: ${name}\n`)
      rows.push(...(await part(bench)))
    }
    if (options.profile) await stopServing(daemon)
  } finally {
    await database.close()
    // Before the workers, which alone keep this process waiting for it.
    await daemon.stop()
    await Promise.all([load.stop(), mock.stop()])
  }
  return rows
}

const options = optionsOf(process.argv.slice(2))
const [before, spunBefore] = [machine(), spin()]
const rows = await measureAll(options)
const [after, spunAfter] = [machine(), spin()]

const { load: loadBefore, ...facts } = before
const noise = { load_before: loadBefore, load_after: after.load, spin_before: spunBefore, spin_after: spunAfter }
const results = {
  machine: facts,
  noise,
  rows: rows.map((row) => ({ ...row, ratio: ratioOf(row, rows), reached: isReached(row) })),
}
writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`)
const spins = [spunBefore, spunAfter].map(({ best, worst }) => `${best.toFixed(1)} ms (slowest ${worst.toFixed(2)} ×)`)
console.log(tableOf(rows))
console.log(`\n${facts.cores} cores (${facts.model}), ${facts.memory_gb} GB, Node ${facts.node}`)
console.log(`load ${loadBefore[0]?.toFixed(1)} → ${after.load[0]?.toFixed(1)}; fixed work ${spins.join(' → ')}`)
console.log(`figures: ${options.json}`)
if (options.profile) console.log(`\n${summaryOf(options.profile)}`)
