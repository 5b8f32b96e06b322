import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { BareTasks } from './bare.main.js'
import { type Bench, type Part, rounds } from './bench.js'
import { sampleNode } from './nodes.part.js'
import { type Row, rowsOf } from './row.js'
import { measure } from './stats.js'
import { Worker } from './worker.js'

const group = 'floor'

/** The same machine, client, mock and servers without the daemon: what no daemon could be faster than. */
export const floors: Part = async (bench) => [
  ...(await bareHttp(bench)),
  ...(await directCall(bench)),
  ...(await inserts(bench)),
  ...(await spawns(bench)),
]

/** A server that answers the bytes of a node, asked as the daemon is. */
const bareHttp = async (bench: Bench): Promise<Row[]> => {
  const server = Worker.start<BareTasks>('bare.main.js')
  const body = JSON.stringify(await sampleNode(bench))
  const wire = { url: await server.run('serve', { body }) }
  const found = await rounds(bench, 8000, (count) => bench.load.run('get', { wire, path: '/', count, width: 16 }))
  await server.stop()
  return rowsOf(group, 'bare node:http GET, c=16', found, { rate: {}, p50: {}, p99: {} })
}

const directCall = async (bench: Bench): Promise<Row[]> => {
  const wire = { url: await bench.mock.run('baseUrl', null) }
  const one = await rounds(bench, 200, (count) => bench.load.run('chat', { wire, count, width: 1 }))
  const many = await rounds(bench, 500, (count) => bench.load.run('chat', { wire, count, width: 16 }))
  await bench.mock.run('arrivals', null)
  return [
    ...rowsOf(group, 'model call at the mock, c=1', one, { p50: {} }),
    ...rowsOf(group, 'model call at the mock, c=16', many, { rate: {} }),
  ]
}

/** BEGIN, one row, COMMIT with the server's own durability. */
const inserts = async (bench: Bench): Promise<Row[]> => {
  const { daemon } = bench
  await bench.database.rows('CREATE TABLE IF NOT EXISTS public.bench_floor (id bigserial PRIMARY KEY, body text)')
  const connections = await Promise.all(Array.from({ length: 16 }, () => daemon.database()))
  const free = [...connections]
  const insert = async (): Promise<void> => {
    const connection = free.pop()
    if (!connection) throw new Error('more inserts than connections')
    await connection.rows('BEGIN')
    await connection.rows('INSERT INTO public.bench_floor (body) VALUES ($1)', ['a row of some length'.repeat(10)])
    await connection.rows('COMMIT')
    free.push(connection)
  }
  const one = await rounds(bench, 400, (count) => measure(count, 1, insert))
  const many = await rounds(bench, 1600, (count) => measure(count, 16, insert))
  await Promise.all(connections.map((connection) => connection.close()))
  await bench.database.rows('DROP TABLE public.bench_floor')
  return [
    ...rowsOf(group, 'Postgres insert transaction, c=1', one, { p50: {} }),
    ...rowsOf(group, 'Postgres insert transaction, c=16', many, { rate: {} }),
  ]
}

const spawned = (program: string, args: string[]) => async (): Promise<void> => {
  await once(spawn(program, args, { stdio: 'ignore' }), 'exit')
}

const spawns = async (bench: Bench): Promise<Row[]> => {
  const small = await rounds(bench, 100, (count) => measure(count, 1, spawned('/bin/true', [])))
  const node = await rounds(bench, 15, (count) => measure(count, 1, spawned(process.execPath, ['-e', '0'])))
  return [
    ...rowsOf(group, 'process: /bin/true', small, { p50: {} }),
    ...rowsOf(group, 'process: node -e 0', node, { p50: {} }),
  ]
}
