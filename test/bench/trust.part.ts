import { fileURLToPath } from 'node:url'
import { TestDaemon } from '../support/daemon.js'
import type { Bench, Part } from './bench.js'
import type { CheckTasks } from './checks.main.js'
import { sampleNode } from './nodes.part.js'
import { metered } from './process.meter.js'
import { least, most, type Row, rowsOf } from './row.js'
import { type Round, spreadOf } from './stats.js'
import { Worker } from './worker.js'

const group = 'trust'
const guarded = 'GET node with the guards, c=16'
const open = 'GET node without them, c=16'

/** What the checks of token, gate, limit and audit cost a request, and by themselves. */
export const trust: Part = async (bench) => [...(await guards(bench)), ...(await checks(bench))]

/** Two daemons that differ in their guards alone, asked by turns so that what else the machine does falls on both. */
const guards = async (bench: Bench): Promise<Row[]> => {
  const preload = fileURLToPath(new URL('open.doors.js', import.meta.url))
  const doors = await TestDaemon.start({ env: { NODE_OPTIONS: `--import=${preload}` } })
  try {
    const [withThem, without] = await Promise.all([
      sideOf(bench, bench.daemon, bench.daemon.token),
      sideOf(bench, doors, 'nobody'),
    ])
    const [count, times] = bench.options.quick ? [800, 2] : [4000, 9]
    for (const { ask } of [withThem, without]) await ask(count)
    const on: Round[] = []
    const off: Round[] = []
    const cpu = { on: {}, off: {} }
    cpu.on = await metered(bench.daemon, async () => {
      cpu.off = await metered(doors, async () => {
        for (let round = 0; round < times; round += 1) {
          on.push(await withThem.ask(count))
          off.push(await without.ask(count))
        }
        return times * count
      })
      return times * count
    })
    const slower = on.map(({ rate }, round) => 100 * (1 - rate / (off[round] as Round).rate))
    return [
      ...rowsOf(group, guarded, { rounds: on }, { rate: { target: least(5000), cpu: cpu.on, floor: `${open}, rate` } }),
      ...rowsOf(group, open, { rounds: off }, { rate: { cpu: cpu.off } }),
      { group, name: 'slower by the guards', unit: '%', value: spreadOf(slower), target: most(8) },
    ]
  } finally {
    await doors.stop()
  }
}

const sideOf = async (bench: Bench, daemon: TestDaemon, token: string) => {
  const path = `/v1/nodes/${(await sampleNode({ ...bench, daemon })).id}`
  const wire = { url: daemon.baseUrl, token }
  return { ask: (count: number) => bench.load.run('get', { wire, path, count, width: 16 }) }
}

const checks = async ({ options }: Bench): Promise<Row[]> => {
  const worker = Worker.start<CheckTasks>('checks.main.js')
  const [count, times] = options.quick ? [2000, 2] : [20_000, 7]
  const row = async (task: keyof CheckTasks, name: string, target?: number): Promise<Row> => {
    await worker.run(task, { count })
    const found: number[] = []
    for (let round = 0; round < times; round += 1) found.push(await worker.run(task, { count }))
    return { group, name, unit: 'µs', value: spreadOf(found), ...(target !== undefined && { target: most(target) }) }
  }
  const rows = [
    await row('appToken', "check of an app's token, cached", 20),
    await row('nodeToken', "check of a node's token, cached", 20),
    await row('scope', 'check of a scope by a list of 50', 5),
    await row('freshScope', 'the same by a list that just came over the bus'),
  ]
  await worker.stop()
  return rows
}
