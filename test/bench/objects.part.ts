import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TestDaemon } from '../support/daemon.js'
import { type Bench, type Part, rounds } from './bench.js'
import type { FlowTasks } from './flow.main.js'
import { outboxFloor } from './objects.floor.js'
import { idleQueues } from './objects.idle.js'
import { sizeRows } from './objects.size.js'
import { metered } from './process.meter.js'
import { least, most, type Row, rowsOf } from './row.js'
import { type Round, spreadOf } from './stats.js'
import { Worker } from './worker.js'

const group = 'objects'
/** Of a payload's text: with what is around it a kibibyte. */
const bytes = 1000
const publishers = 16
const batch = 100
const outbox = 'Postgres outbox: insert, claim, delete, c=1'

/** A daemon of its own, and a process that publishes and receives. */
export interface ObjectStage extends Bench {
  readonly flow: Worker<FlowTasks>
}

/** Custom objects: how soon an event is received, how many a second, whether it stays so, and what rest and many cost. */
export const objects: Part = async (bench) => {
  const profiling = bench.options.profile && `--cpu-prof --cpu-prof-dir=${bench.options.profile}`
  const daemon = await TestDaemon.start({
    // The limit is counted, and never reached; as many streams as there are watchers.
    env: { SVC_RATE_LIMIT: '100000000', SVC_SSE_CLIENTS: '2000', ...(profiling && { NODE_OPTIONS: profiling }) },
  })
  const database = await daemon.database()
  const flow = Worker.start<FlowTasks>('flow.main.js')
  try {
    const wire = { url: daemon.baseUrl, token: daemon.token }
    const stage: ObjectStage = { ...bench, daemon, database, wire, flow }
    return [
      ...(await outboxFloor(stage, group, outbox, bytes)),
      ...(await requestReply(stage)),
      ...(await roundTrip(stage)),
      ...(await oneByOne(stage)),
      ...(await inBatches(stage)),
      ...(await fanOut(stage)),
      ...(await flatness(stage)),
      ...(await idleQueues(stage, group)),
    ]
  } finally {
    await database.close()
    await daemon.stop()
    await flow.stop()
  }
}

/** An object that publishes, and a queue that watches it. */
const pair = async ({ daemon }: Bench, name: string): Promise<{ source: string; queue: string }> => {
  const { customObjects } = daemon.client()
  const payload_schema = {
    type: 'object',
    required: ['n', 'text'],
    properties: { n: { type: 'integer' }, text: { type: 'string' } },
    additionalProperties: false,
  }
  await customObjects.register({ name, catalog: [{ event: 'step', payload_schema }] })
  await customObjects.register({
    name: `${name}-queue`,
    receiver: { type: 'queue', max_pending: 1_000_000 },
    watches: [{ source: name }],
  })
  return { source: name, queue: `${name}-queue` }
}

const requestReply = async (stage: ObjectStage): Promise<Row[]> => {
  const { data } = stage.daemon
  const server = `127.0.0.1:${readFileSync(join(data.run, 'nats.port'), 'utf8').trim()}`
  const account = (user: string) => ({
    user,
    pass: readFileSync(join(data.secrets, `nats.${user}.password`), 'utf8').trim(),
  })
  const bus = { server, asks: account('gateway'), answers: account('objects'), bytes }
  const found = await rounds(stage, 2000, (count) => stage.flow.run('requestReply', { ...bus, count }))
  return rowsOf(group, 'NATS request and reply of 1 KiB, c=1', found, { p50: {} })
}

const roundTrip = async (stage: ObjectStage): Promise<Row[]> => {
  const { flow, wire } = stage
  const names = await pair(stage, 'idle')
  const found = await rounds(stage, 500, (count) => flow.run('roundTrip', { wire, ...names, bytes, count }))
  return rowsOf(group, 'publish → receive, 1 KiB, c=1', found, {
    p50: { target: most(2.5), floor: `${outbox}, p50`, cpu: found.cpu },
    p99: {},
  })
}

const oneByOne = async (stage: ObjectStage): Promise<Row[]> => {
  const { flow, wire } = stage
  const names = await pair(stage, 'single')
  const found = await rounds(stage, 5000, (count) =>
    flow.run('oneByOne', { wire, ...names, bytes, count, width: publishers }),
  )
  return rowsOf(group, `published one by one, c=${publishers}, to acknowledged`, found, {
    rate: { target: least(2000), floor: `${outbox}, rate`, cpu: found.cpu },
    p50: {},
    p99: {},
  })
}

const inBatches = async (stage: ObjectStage): Promise<Row[]> => {
  const { flow, wire } = stage
  const names = await pair(stage, 'batched')
  const size = batch
  const found = await rounds(stage, 30_000, (count) =>
    flow.run('batches', { wire, ...names, bytes, size, width: 4, count: Math.ceil(count / size) * size }),
  )
  return rowsOf(group, `published by ${batch}, c=4, to acknowledged`, found, {
    rate: { target: least(10_000), floor: `${outbox}, rate`, cpu: found.cpu },
    p50: {},
    p99: {},
  })
}

const fanOut = async (stage: ObjectStage): Promise<Row[]> => {
  const { flow, wire, daemon, options } = stage
  const watchers = options.quick ? 200 : 1000
  const { source } = await pair(stage, 'wide')
  const { customObjects } = daemon.client()
  const queues = Array.from({ length: watchers }, (_, at) => `wide-${at}`)
  for (const name of queues) await customObjects.register({ name, receiver: { type: 'queue' }, watches: [{ source }] })
  const found: { answers: Round; everywhere: Round }[] = []
  const count = options.quick ? 2 : 5
  const cpu = await metered(daemon, async () => {
    for (let round = 0; round < 3; round += 1)
      found.push(await flow.run('fanOut', { wire, source, bytes, count, queues }))
    return 3 * count * watchers
  })
  await daemon.client().customObjects.unregister(source)
  const rows = (name: string, of: 'answers' | 'everywhere', about: Partial<Row> = {}): Row => ({
    group,
    name: `an event to ${watchers} watchers, ${name}`,
    unit: 'ms',
    value: spreadOf(found.map((one) => one[of].p50)),
    ...about,
  })
  return [rows('answer to who published it', 'answers'), rows('until all have it', 'everywhere', { cpu })]
}

/** The same flow for long: is it as fast at its end as at its beginning, and what does it leave in the tables? */
const flatness = async (stage: ObjectStage): Promise<Row[]> => {
  const { flow, wire, options, database } = stage
  const count = options.quick ? 10_000 : options.scale ? 1_000_000 : 100_000
  const names = await pair(stage, 'long')
  const tenths = await flow.run('tenths', { wire, ...names, bytes, size: batch, width: 4, count })
  const name = `${count.toLocaleString('en')} deliveries without a pause`
  const row = (what: string, unit: Row['unit'], value: number, about: Partial<Row> = {}): Row => ({
    group,
    name: `${name}, ${what}`,
    unit,
    value: { min: value, median: value, max: value },
    ...about,
  })
  const [first, last] = [tenths.at(0), tenths.at(-1)]
  if (!first || !last) throw new Error('a flow without tenths')
  return [
    row('the first tenth', '/s', first.rate),
    row('the last tenth', '/s', last.rate),
    row('the last tenth slower by', '%', 100 * (1 - last.rate / first.rate), { target: most(10) }),
    row('a batch received, the first tenth, p50', 'ms', first.p50),
    row('a batch received, the last tenth, p50', 'ms', last.p50),
    ...(await sizeRows(database, row)),
  ]
}
