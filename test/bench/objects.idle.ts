import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { waitFor } from '#common/testing/wait-for.js'
import type { ObjectStage } from './objects.part.js'
import { metered } from './process.meter.js'
import { most, type Row } from './row.js'

const queues = 10_000
/** Of these: received by somebody, who hears nothing. */
const open = 500

interface Rest {
  /** Statements a second of the service `objects`, its transactions' BEGIN and COMMIT included. */
  readonly statements: number
  /** CPU ms a second, by group of processes. */
  readonly cpu: Readonly<Record<string, number>>
}

/** What it costs that queues are there and nothing comes. */
export const idleQueues = async (stage: ObjectStage, group: string): Promise<Row[]> => {
  const { database, flow, wire, options } = stage
  const seconds = options.quick ? 10 : 60
  const without = await atRest(stage, seconds)
  await database.rows(seed, [queues])
  await database.run('ANALYZE objects.objects, objects.receivers, objects.acks')
  const names = Array.from({ length: open }, (_, at) => `bench-idle-${at + 1}`)
  await flow.run('hold', { wire, queues: names })
  const beside = await atRest(stage, seconds)
  await flow.run('letGo', null as never)
  const row = (what: string, unit: Row['unit'], value: number, about: Partial<Row> = {}): Row => ({
    group,
    name: what,
    unit,
    value: { min: value, median: value, max: value },
    ...about,
  })
  const name = `${queues.toLocaleString('en')} idle queues, ${open} of them received`
  const cpu = (rest: Rest): number => ((rest.cpu.daemon ?? 0) + (rest.cpu.postgres ?? 0)) / 10
  return [
    row('statements of objects at rest', '/s', without.statements),
    row(`statements of objects beside ${name}`, '/s', beside.statements, {
      target: most(Math.max(5, 1.5 * without.statements)),
    }),
    row('CPU of daemon and Postgres at rest', '%', cpu(without)),
    row(`CPU of daemon and Postgres beside ${name}`, '%', cpu(beside)),
  ]
}

const seed = `
  WITH ids AS (SELECT i, 'obj_01' || lpad(i::text, 24, '0') AS id FROM generate_series(1, $1::int) AS i),
  objects AS (
    INSERT INTO objects.objects (id, name, description, catalog, catalog_version, receiver, created_by, version, created_at,
                                 updated_at)
    SELECT id, 'bench-idle-' || i, '', '[]', 1, '{"type":"queue","max_pending":100000}', '{"kind":"owner","id":"owner"}', 1,
           now(), now() FROM ids),
  sources AS (INSERT INTO objects.sources (id) SELECT id FROM ids),
  receivers AS (INSERT INTO objects.receivers (id, kind, max_pending) SELECT id, 'queue', 100000 FROM ids)
  INSERT INTO objects.acks (receiver_id) SELECT id FROM ids`

/** The server itself tells of each statement while it is looked at. */
const atRest = async ({ daemon, database }: ObjectStage, seconds: number): Promise<Rest> => {
  for (const setting of ["log_statement = 'all'", "log_line_prefix = '[%a] '"])
    await database.run(`ALTER SYSTEM SET ${setting}`)
  await database.run('SELECT pg_reload_conf()')
  const path = join(daemon.data.log, 'postgres.log')
  const until = (moment: number) =>
    waitFor(() => performance.now() >= moment, { timeout: 120_000, interval: 200, what: 'the end of the look' })
  await until(performance.now() + 3000)
  const from = statSync(path).size
  const cpu = await metered(daemon, async () => {
    await until(performance.now() + seconds * 1000)
    return seconds
  })
  const statements = statementsIn(readFileSync(path).subarray(from).toString('latin1'))
  for (const setting of ['log_statement', 'log_line_prefix']) await database.run(`ALTER SYSTEM RESET ${setting}`)
  await database.run('SELECT pg_reload_conf()')
  return { statements: statements / seconds, cpu }
}

const statementsIn = (text: string): number =>
  text.split('\n').filter((line) => line.startsWith('[svc objects') && /LOG: +(statement|execute)/.test(line)).length
