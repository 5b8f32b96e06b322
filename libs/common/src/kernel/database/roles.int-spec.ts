import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import pg from 'pg'
import { type AdminConnection, openAdmin } from '#common/testing/admin-connection.js'
import { type TestDatabase, testDatabase } from '#common/testing/database.js'
import { waitFor } from '#common/testing/wait-for.js'
import { ensureRoles, type RoleOptions, type UrlFor } from './roles.js'
import { urlAs } from './service-roles.js'

type Logged = Record<string, unknown> & { what: string }

let store: TestDatabase
let admin: AdminConnection
let logged: Logged[]
beforeEach(async () => {
  store = await testDatabase()
  admin = await openAdmin(store.url)
  logged = []
})
afterEach(async () => {
  const roles = await admin.rows<{ name: string }>(
    'SELECT rolname AS name FROM pg_roles WHERE starts_with(rolname, $1)',
    [`${new URL(store.url).username}_${store.name}`],
  )
  for (const { name } of roles) await admin.run(`DROP OWNED BY ${name}; DROP ROLE ${name}`)
  await admin.close()
  await store.drop()
})

const passwordOf = (service: string): string => `first-${service}`
const ensure = async (options: Partial<RoleOptions> = {}): Promise<UrlFor> => {
  const log = (fields: object, what: string): void => void logged.push({ ...fields, what })
  const url = options.url ?? store.url
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await ensureRoles(client, { url, passwordOf, log: { info: log, warn: log }, ...options })
  } finally {
    await client.end()
  }
}
const ask = async (url: string, statement: string): Promise<Record<string, unknown>[]> => {
  const connection = await openAdmin(url)
  return connection.rows<Record<string, unknown>>(statement).finally(() => connection.close())
}
const nameOf = (url: string): string => new URL(url).username

describe('the roles of the services', () => {
  it('are made once: the next start finds all in order, and changes nothing', async () => {
    const urlFor = await ensure()
    expect(await ask(urlFor('lifecycle'), 'SELECT current_user AS name')).toEqual([
      { name: `${nameOf(store.url)}_${store.name}_lifecycle` },
    ])
    expect(logged.map(({ what }) => what)).toEqual([
      'rights of the services were set',
      'roles of the services were set up',
    ])
    logged = []
    expect((await ensure())('models')).toBe(urlFor('models'))
    expect(logged).toEqual([])
  })

  it('may use at once what a later migration adds to their schema, and nobody else may', async () => {
    const urlFor = await ensure()
    await admin.run('CREATE TABLE canvas.later (id serial PRIMARY KEY)')
    await ask(urlFor('lifecycle'), 'INSERT INTO canvas.later DEFAULT VALUES')
    await expect(ask(urlFor('models'), 'SELECT FROM canvas.later')).rejects.toMatchObject({ code: '42501' })
  })

  it('get their password back after its file was lost, and the lost one opens nothing', async () => {
    const lost = await ensure()
    const renewed = await ensure({ passwordOf: (service) => `second-${service}` })
    await ask(renewed('gateway'), 'SELECT 1')
    await expect(ask(lost('gateway'), 'SELECT 1')).rejects.toMatchObject({ code: '28P01' })
    expect(logged.at(-1)).toMatchObject({ made: [], renewed: expect.arrayContaining([nameOf(renewed('models'))]) })
  })

  it('lose every right that somebody gave them besides, and get back what was taken', async () => {
    const urlFor = await ensure()
    const [gateway, lifecycle] = [nameOf(urlFor('gateway')), nameOf(urlFor('lifecycle'))]
    await admin.run(
      `
      GRANT USAGE, CREATE ON SCHEMA canvas TO ${gateway}; GRANT ALL ON ALL TABLES IN SCHEMA canvas TO ${gateway};
      GRANT SELECT (api_key) ON models.credentials TO ${gateway}; GRANT SELECT ON canvas.nodes TO PUBLIC;
      GRANT CREATE ON SCHEMA public TO PUBLIC; GRANT TRUNCATE, TRIGGER ON gateway.tokens TO ${gateway};
      GRANT pg_read_all_data TO ${gateway}; ALTER ROLE ${gateway} SUPERUSER CREATEDB REPLICATION CONNECTION LIMIT 1;
      ALTER DEFAULT PRIVILEGES IN SCHEMA canvas GRANT SELECT ON TABLES TO ${gateway};
      REVOKE ALL ON canvas.nodes FROM ${lifecycle}`.replace('api_key', await column('models.credentials')),
    )
    await ensure()
    const [role] = await admin.rows(
      'SELECT rolsuper, rolcreatedb, rolreplication, rolconnlimit > 1 AS room FROM pg_roles WHERE rolname = $1',
      [gateway],
    )
    expect(role).toEqual({ rolsuper: false, rolcreatedb: false, rolreplication: false, room: true })
    for (const statement of [
      'SELECT FROM canvas.nodes',
      'SELECT * FROM models.credentials',
      'CREATE TABLE public.x ()',
      'TRUNCATE gateway.tokens',
    ]) {
      await expect(ask(urlFor('gateway'), statement)).rejects.toMatchObject({ code: '42501' })
    }
    await ask(urlFor('lifecycle'), 'SELECT FROM canvas.nodes')
    logged = []
    await ensure()
    expect(logged).toEqual([])
  })

  it('stand after several daemons made them at the same time', async () => {
    const urls = await Promise.all([1, 2, 3, 4].map(() => ensure()))
    for (const urlFor of urls) await ask(urlFor('lifecycle'), 'SELECT FROM canvas.nodes')
  })

  it('are all there or none when the process that makes them dies, and the next one makes them', async () => {
    // a right that another transaction is about to give holds up the set-up in its middle
    await admin.run('BEGIN; GRANT SELECT ON canvas.nodes TO pg_monitor')
    const killed = ensure().then(
      () => 'made',
      () => 'died',
    )
    const watch = await openAdmin(store.url)
    const [held] = await waitFor(async () => {
      const rows = await watch.rows<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      )
      return rows.length > 0 && rows
    })
    await watch.rows('SELECT pg_terminate_backend($1)', [held?.pid])
    expect(await killed).toBe('died')
    await admin.run('ROLLBACK')
    expect(await watch.rows(`SELECT FROM pg_roles WHERE rolname LIKE '%${store.name}%'`)).toEqual([])
    await watch.close()
    await ask((await ensure())('lifecycle'), 'SELECT FROM canvas.nodes')
  })
})

describe('a server of somebody else’s', () => {
  let owner: string
  let account: string
  beforeEach(async () => {
    account = `${store.name}_owner`
    owner = urlAs(store.url, account, 'pw')
    const mine = nameOf(store.url)
    await admin.run(`CREATE ROLE ${account} LOGIN PASSWORD 'pw'; ALTER DATABASE ${store.name} OWNER TO ${account}`)
    await admin.run(`DO $$ DECLARE o record; BEGIN
      FOR o IN SELECT nspname FROM pg_namespace WHERE nspname IN ('canvas', 'gateway', 'models', 'objects', 'scheduler') LOOP
        EXECUTE format('ALTER SCHEMA %I OWNER TO ${account}', o.nspname); END LOOP;
      FOR o IN SELECT c.oid::regclass AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE nspname IN ('canvas', 'gateway', 'models', 'objects', 'scheduler') AND relkind = 'r' LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO ${account}', o.name); END LOOP;
      FOR o IN SELECT p.oid::regprocedure AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
               WHERE nspname IN ('canvas', 'gateway', 'models', 'objects', 'scheduler') LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO ${account}', o.name); END LOOP;
      END $$`)
    expect(mine).not.toBe(account)
  })
  afterEach(async () => {
    const roles = await admin.rows<{ name: string }>(
      'SELECT rolname AS name FROM pg_roles WHERE starts_with(rolname, $1) ORDER BY length(rolname) DESC',
      [account],
    )
    await admin.run(`ALTER DATABASE ${store.name} OWNER TO CURRENT_USER`)
    for (const { name } of roles)
      await admin.run(`REASSIGN OWNED BY ${name} TO CURRENT_USER; DROP OWNED BY ${name}; DROP ROLE ${name}`)
  })

  it('whose account may not make roles is told what to grant, and how to do without', async () => {
    const refused = ensure({ url: owner })
    await expect(refused).rejects.toThrow(`ALTER ROLE "${account}" CREATEROLE`)
    await expect(refused).rejects.toThrow('SVC_DATABASE_ROLES=shared')
    expect(await admin.rows('SELECT FROM pg_roles WHERE starts_with(rolname, $1)', [`${account}_`])).toEqual([])
  })

  it('whose account may make roles gets them too, without being a superuser', async () => {
    await admin.run(`ALTER ROLE ${account} CREATEROLE`)
    const urlFor = await ensure({ url: owner })
    await ask(urlFor('lifecycle'), 'SELECT FROM canvas.nodes')
    await expect(ask(urlFor('gateway'), 'SELECT FROM canvas.nodes')).rejects.toMatchObject({ code: '42501' })
    logged = []
    await ensure({ url: owner })
    expect(logged).toEqual([])
  })

  it('keeps what other accounts may do there', async () => {
    const stranger = `${account}_reader`
    await admin.run(`CREATE ROLE ${stranger} LOGIN PASSWORD 'pw'; GRANT CONNECT ON DATABASE ${store.name} TO PUBLIC`)
    await ensure()
    expect(await ask(urlAs(store.url, stranger, 'pw'), 'SELECT current_user AS name')).toEqual([{ name: stranger }])
  })
})

const column = async (table: string): Promise<string> =>
  (
    await admin.rows<{ name: string }>(
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${table}'::regclass AND attnum = 2`,
    )
  )[0]?.name as string
