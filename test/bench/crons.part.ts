import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConnectionOptions } from 'bullmq'
import { Redis } from 'ioredis'
import { waitFor } from '#common/testing/wait-for.js'
import { TestDaemon } from '../support/daemon.js'
import { type Bench, type Part, rounds } from './bench.js'
import { type Firing, firingsOf, type SeededCrons, seedCrons } from './crons.seed.js'
import { metered } from './process.meter.js'
import { most, type Row, rowsOf } from './row.js'
import { quantile, spreadOf } from './stats.js'
import type { TimerTasks } from './timers.main.js'
import { Worker } from './worker.js'

const group = 'crons'
const armed = 10_000
const refilled = 100_000
/** ms from one firing to the next where they are steady. */
const apart = 50
const year = 365 * 86_400_000
/** Unread mail of one node has a bound. */
const targetCount = 20

/** A daemon of its own, full of schedules, beside BullMQ by itself on the same Redis. */
interface Stage extends Bench {
  readonly redis: Redis
  readonly connection: ConnectionOptions
  readonly timers: Worker<TimerTasks>
  readonly targets: readonly string[]
  /** Numbers of schedules that were given away. */
  next: number
}

/** Schedules: how late they fire among many, all at once, anew into an emptied Redis, and how long it takes to make one. */
export const crons: Part = async (bench) => {
  const daemon = await TestDaemon.start()
  const database = await daemon.database()
  const password = readFileSync(join(daemon.data.secrets, 'redis.password'), 'utf8').trim()
  const connection = { path: join(daemon.data.sockets, 'redis.sock'), password }
  const redis = new Redis(connection)
  const timers = Worker.start<TimerTasks>('timers.main.js')
  try {
    const wire = { url: daemon.baseUrl, token: daemon.token }
    const targets = await Promise.all(Array.from({ length: targetCount }, () => target(daemon)))
    const stage: Stage = { ...bench, daemon, database, wire, redis, connection, timers, targets, next: 1 }
    const floor = await bareLateness(stage)
    await seed(stage, { count: armed, due: Date.now() + year, apart: 1 })
    await poke(stage)
    return [
      ...floor,
      ...(await steady(stage)),
      ...(await creation(stage)),
      ...(await burst(stage)),
      ...(await refill(stage)),
    ]
  } finally {
    redis.disconnect()
    await database.close()
    await daemon.stop()
    await timers.stop()
  }
}

/** Rests when it has read its first mail: what is deferred then waits for it to be woken by another. */
const target = async (daemon: TestDaemon): Promise<string> => {
  const exec = { argv: ['true'], stdin: 'text' as const }
  const client = daemon.client()
  const { id } = await client.nodes.create({ prompt: 'listen', cwd: daemon.workDir, engine: 'exec', exec })
  await client.nodes.waitForStatus(id, ['idle'])
  return id
}

const seed = async (
  stage: Stage,
  { count, due, apart }: Pick<SeededCrons, 'count' | 'due' | 'apart'>,
): Promise<SeededCrons> => {
  const seeded = { from: stage.next, count, due, apart, targets: stage.targets }
  stage.next += count
  await seedCrons(stage.database, seeded)
  return seeded
}

const poke = ({ daemon }: Stage): Promise<{ armed: number; due: number }> =>
  daemon.client().request('POST', '/v1/crons/poke', undefined, { timeout: 120_000 })

const times = ({ options }: Stage, full: number): number => (options.quick ? 1 : full)

/** Seeds, arms and waits for all of them. */
const fired = async (stage: Stage, count: number, apart: number): Promise<Firing[]> => {
  const seeded = await seed(stage, { count, due: Date.now() + 8000, apart })
  await poke(stage)
  const all = async (): Promise<Firing[] | false> => {
    const found = await firingsOf(stage.database, seeded)
    return found.length === count && found
  }
  await waitFor(() => Date.now() > seeded.due + count * apart, { timeout: 600_000, interval: 100 })
  return waitFor(all, { timeout: 120_000, interval: 500, what: 'all firings' })
}

const figures = { p50: 0.5, p99: 0.99, most: 1 } as const

/** A row for each figure of values that were measured in several rounds. */
const latenessRows = (
  name: string,
  found: readonly (readonly number[])[],
  about: Partial<Record<keyof typeof figures, Partial<Row>>> = {},
): Row[] =>
  (Object.entries(figures) as [keyof typeof figures, number][]).map(([figure, at]) => ({
    group,
    name: `${name}, ${figure}`,
    unit: 'ms',
    value: spreadOf(found.map((values) => quantile(values, at))),
    ...about[figure],
  }))

const steadyCount = ({ options }: Stage): number => (options.quick ? 100 : 600)

const bareName = `BullMQ job among ${armed / 1000}k, 20/s, late`

const bareLateness = async (stage: Stage): Promise<Row[]> => {
  const { timers, connection } = stage
  const found: number[][] = []
  for (let round = 0; round < times(stage, 3); round += 1)
    found.push(await timers.run('lateness', { connection, armed, count: steadyCount(stage), apart }))
  return latenessRows(bareName, found)
}

const steady = async (stage: Stage): Promise<Row[]> => {
  const count = steadyCount(stage)
  const found: Firing[][] = []
  const cpu = await metered(stage.daemon, async () => {
    for (let round = 0; round < times(stage, 3); round += 1) found.push(await fired(stage, count, apart))
    return times(stage, 3) * count
  })
  const name = `schedule among ${armed / 1000}k, 20/s`
  const late = found.map((firings) => firings.map((firing) => firing.fired))
  const accepted = found.map((firings) => firings.map((firing) => firing.accepted))
  return [
    ...latenessRows(`${name}, late`, late, {
      p50: { floor: `${bareName}, p50`, cpu },
      p99: { floor: `${bareName}, p99`, target: most(20) },
      most: { floor: `${bareName}, most` },
    }),
    ...latenessRows(`${name}, its work accepted`, accepted),
  ]
}

const creation = async (stage: Stage): Promise<Row[]> => {
  const { load, wire, targets } = stage
  const action = { type: 'message', node_id: targets[0], body: 'it is time', tier: 'deferred' }
  const bodies = [
    { schedule: { cron: '0 9 * * MON-FRI', tz: 'Europe/Berlin' }, action },
    { schedule: { every: 86_400 }, action },
    { schedule: { at: new Date(Date.now() + year).toISOString() }, action },
  ]
  const found = await rounds(stage, 300, (count) =>
    load.run('postEach', { wire, path: '/v1/crons', bodies, count, width: 1 }),
  )
  return rowsOf(group, 'POST schedule, c=1', found, {
    p50: { target: most(10), floor: 'Postgres insert transaction, c=1, p50', cpu: found.cpu },
    p99: {},
  })
}

const burst = async (stage: Stage): Promise<Row[]> => {
  const count = stage.options.quick ? 200 : 1000
  const found: Firing[][] = []
  const cpu = await metered(stage.daemon, async () => {
    for (let round = 0; round < times(stage, 3); round += 1) found.push(await fired(stage, count, 0))
    return times(stage, 3) * count
  })
  const name = `${count} schedules due at one moment`
  const row = (figure: string, of: keyof Firing, about: Partial<Row> = {}): Row => ({
    group,
    name: `${name}, until the last is ${figure}`,
    unit: 'ms',
    value: spreadOf(found.map((firings) => Math.max(...firings.map((firing) => firing[of])))),
    ...about,
  })
  return [row('fired', 'fired'), row('accepted', 'accepted', { target: most(2000), cpu })]
}

const refill = async (stage: Stage): Promise<Row[]> => {
  const { redis, timers, connection, database } = stage
  const count = stage.options.quick ? refilled / 5 : refilled
  await seed(stage, { count: Math.max(0, count - stage.next + 1), due: Date.now() + year, apart: 1 })
  const [installation] = await database.rows<{ name: string }>('SELECT name FROM scheduler.installation')
  const [active] = await database.rows<{ count: number }>(
    "SELECT count(*)::int AS count FROM scheduler.crons WHERE status = 'active' AND next_slot IS NOT NULL",
  )
  const floor: number[] = []
  const took: number[] = []
  for (let round = 0; round < times(stage, 3); round += 1) {
    await redis.flushall()
    floor.push(await timers.run('fill', { connection, armed: count }))
    await redis.flushall()
    const began = performance.now()
    await poke(stage)
    const isFull = async () => (await redis.zcard(`svc:${installation?.name}:slots:delayed`)) === active?.count
    await waitFor(isFull, { timeout: 120_000, interval: 50, what: `timers of ${active?.count} schedules` })
    took.push(performance.now() - began)
  }
  const name = `BullMQ addBulk of ${count / 1000}k jobs`
  return [
    { group, name, unit: 'ms', value: spreadOf(floor) },
    {
      group,
      name: `refill of ${count / 1000}k schedules into an empty Redis`,
      unit: 'ms',
      value: spreadOf(took),
      floor: name,
      target: most(20_000),
    },
  ]
}
