import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type pg from 'pg'
import { Database } from '#common/kernel/database/database.js'
import { waitFor } from '#common/testing/wait-for.js'
import { ObjectsUnderTest, ownerCall } from '../../../../test/support/objects-service.js'
import { range, Stage } from './publish.fixture.js'
import { Refusals } from './refusals.js'

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Cond'?: string
  readonly 'Recheck Cond'?: string
  readonly Filter?: string
  readonly Plans?: readonly Plan[]
}

let objects: ObjectsUnderTest
let stage: Stage

beforeAll(async () => {
  objects = await ObjectsUnderTest.start()
  stage = new Stage(objects)
})
afterAll(() => objects.stop())

/** Each statement that publishing has prepared, once. */
const exercise = async (name: string): Promise<void> => {
  const id = await stage.source(name)
  await stage.watchers(id, 3)
  const crowd = await stage.source(`${name}-crowd`)
  await stage.watchers(crowd, 600)
  const full = await stage.source(`${name}-full`)
  await stage.watchers(full, 1, { max_pending: 1 })
  await stage.publish(name, 1, { dedupe_key: 'k', ctx: ownerCall({ idempotencyKey: 'i' }) })
  await stage.publish(`${name}-full`)
  await stage.publish(`${name}-full`).catch(() => undefined)
  await stage.publish(name, 1, { event: 'none' }).catch(() => undefined)
  await stage.publishBatch(
    `${name}-crowd`,
    range(1, 20).map((payload) => ({ payload })),
  )
  await waitFor(async () => (await objects.database.query('SELECT 1 FROM objects.fanouts')).length === 0)
  await objects.service.app.get(Refusals, { strict: false }).stop()
}

/** The first rows in an index's own order, none of them thrown away: no more is read than is given. */
const takesTheFirst = (plan: Plan, below: Plan): boolean =>
  plan['Node Type'] === 'Limit' && /^Index (Only )?Scan$/.test(below['Node Type']) && below.Filter === undefined

const flat = (plan: Plan): Plan[] => [
  plan,
  ...(plan.Plans ?? []).filter((below) => !takesTheFirst(plan, below)).flatMap(flat),
]

/** How each prepared statement of publishing reaches the tables, on one connection that has them all. */
const reachesOf = async (): Promise<Map<string, Plan[]>> => {
  const database = objects.service.app.get(Database, { strict: false })
  const clients = await Promise.all(range(1, 8).map(() => database.connect()))
  const reaches = new Map<string, Plan[]>()
  try {
    for (const client of clients) {
      // objects by their names are the registry's own business, and few
      const { rows } = await client.query<{ name: string; statement: string; places: number }>(
        `SELECT name, statement, coalesce(array_length(parameter_types, 1), 0) AS places FROM pg_prepared_statements
          WHERE statement ~ 'objects\\.(sources|events|deliveries|receivers|fanouts|keys|watches|refusals|objects)\\y'
            AND statement !~ 'objects\\.objects WHERE name'`,
      )
      for (const { name, statement, places } of rows) reaches.set(statement, await explain(client, name, places))
    }
  } finally {
    for (const client of clients) client.release()
  }
  return reaches
}

const explain = async (client: pg.PoolClient, name: string, places: number): Promise<Plan[]> => {
  const given =
    places > 0
      ? `(${range(1, places)
          .map(() => 'NULL')
          .join(', ')})`
      : ''
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `EXPLAIN (FORMAT json, COSTS off) EXECUTE ${name}${given}`,
  )
  return flat((rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan)
}

/** Tables that a few rows of are read whole. */
const small = new Set(['full_receivers', 'fanouts'])

const expectByIndex = (reaches: ReadonlyMap<string, Plan[]>): void => {
  expect([...reaches.keys()].filter((text) => text.includes('objects.fanouts')).length).toBeGreaterThan(3)
  for (const [statement, plans] of reaches) {
    const bare = plans.filter(
      (plan) =>
        /Scan/.test(plan['Node Type']) &&
        plan['Relation Name'] !== undefined &&
        !small.has(plan['Relation Name']) &&
        plan['Index Cond'] === undefined &&
        plan['Recheck Cond'] === undefined,
    )
    expect({ statement: bare.length > 0 ? statement : '', bare }).toEqual({ statement: '', bare: [] })
    expect(plans.map((plan) => plan['Node Type']).filter((type) => /Seq Scan|Hash Join|Merge Join/.test(type))).toEqual(
      [],
    )
  }
}

describe('each statement of publishing', () => {
  it('reaches its rows by an index, planned while the tables are empty', async () => {
    await exercise('early')
    expectByIndex(await reachesOf())
  })

  it('reaches its rows by an index, planned when they are full', async () => {
    await objects.database.query(
      `WITH ids AS (SELECT 'obj_' || n AS id FROM generate_series(1, 20000) n),
            r AS (INSERT INTO objects.receivers (id, kind, max_pending) SELECT id, 'queue', 10 FROM ids),
            a AS (INSERT INTO objects.acks (receiver_id) SELECT id FROM ids),
            s AS (INSERT INTO objects.sources (id) SELECT id FROM ids),
            e AS (INSERT INTO objects.events (source_id, seq, event, payload, published_by, accepted_at)
                  SELECT id, 1, 'e', '1', '{}', now() FROM ids),
            k AS (INSERT INTO objects.keys SELECT id, 'd:1', NULL, 1, 1, now() FROM ids),
            o AS (INSERT INTO objects.objects (id, name, description, catalog, catalog_version, created_by, version, created_at, updated_at)
                  SELECT id, id, '', '[]', 1, '{}', 1, now(), now() FROM ids)
       INSERT INTO objects.watches SELECT 'obj_' || n % 100, id, '{}', 'normal', '{}', now() FROM ids, LATERAL substring(id, 5) AS t, LATERAL (SELECT t::int) AS m (n)`,
    )
    await objects.database.query('ANALYZE')
    await exercise('late')
    expectByIndex(await reachesOf())
  })
})
