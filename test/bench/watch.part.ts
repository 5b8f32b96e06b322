import { type Part, rounds } from './bench.js'
import { rowsOf } from './row.js'

const clients = 500

/** One node's events to many who watch it. */
export const watch: Part = async (bench) => {
  const { daemon, load, wire } = bench
  const client = daemon.client()
  const found = await rounds(bench, 20, async (messages) => {
    const node = await client.nodes.create({
      prompt: 'Wait',
      cwd: daemon.workDir,
      lifecycle: 'terminal',
      engine: 'exec',
      exec: { argv: ['sleep', '600'] },
    })
    const round = await load.run('watch', { wire, node: node.id, clients, messages })
    await client.nodes.cancel(node.id)
    return round
  })
  const each = Object.fromEntries(Object.entries(found.cpu).map(([name, spent]) => [name, spent / clients]))
  return rowsOf('watch', `an event to ${clients} streams`, found, { p50: {}, p99: {}, rate: { cpu: each } })
}
