import { type Bench, type Part, rounds } from './bench.js'
import { least, rowsOf } from './row.js'

/** A node that has ended, read back as the API shows it. */
export const sampleNode = async ({ daemon }: Bench) => {
  const client = daemon.client()
  const { node_id } = await client.nodes.createAndWait({
    prompt: 'Nothing',
    cwd: daemon.workDir,
    lifecycle: 'terminal',
    engine: 'exec',
    exec: { argv: ['true'] },
  })
  return client.nodes.retrieve(node_id)
}

/** An authenticated read: listener, token, gate, bus, lifecycle, Postgres and back. */
export const nodes: Part = async (bench) => {
  const { load, wire } = bench
  const path = `/v1/nodes/${(await sampleNode(bench)).id}`
  const found = await rounds(bench, 8000, (count) => load.run('get', { wire, path, count, width: 16 }))
  const http = 'bare node:http GET, c=16'
  return rowsOf('nodes', 'GET node, c=16', found, {
    rate: { target: least(4000), floor: `${http}, rate`, cpu: found.cpu },
    p50: { floor: `${http}, p50` },
    p99: { floor: `${http}, p99` },
  })
}
