import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { type AdminConnection, openAdmin } from '#common/testing/admin-connection.js'
import { type TestDatabase, testDatabase, withDatabase } from '#common/testing/database.js'
import { serviceRoles } from './service-roles.js'

// Done when: "gateway, scheduler, objects, models and a broker can each be shown unable to write the canvas". The suite is
// made of the list of roles, so that a service that comes later is held to it by its entry.
const forbidden = '42501'

let store: TestDatabase
beforeAll(async () => {
  store = await testDatabase()
})
afterAll(() => store.drop())

const withServices = serviceRoles.map(({ service }) => service)
const others = withServices.filter((service) => service !== 'lifecycle')

describe.each(serviceRoles)('the role of $service', ({ service, schemas, reads = [], functions = [] }) => {
  let role: AdminConnection
  beforeAll(async () => {
    role = await openAdmin(store.urlFor(service))
  })
  afterAll(() => role.close())

  /** What the server answers to a statement, undone in any case: the code of its refusal, or `done`. */
  const tried = async (statement: string): Promise<string> => {
    await role.run('BEGIN')
    try {
      await role.run(statement)
      return 'done'
    } catch (error) {
      return (error as { code: string }).code
    } finally {
      await role.run('ROLLBACK')
    }
  }
  const allRefused = async (statements: readonly string[]): Promise<void> => {
    const outcomes: [string, string][] = []
    for (const statement of statements) outcomes.push([statement, await tried(statement)])
    expect(outcomes).toEqual(statements.map((statement) => [statement, forbidden]))
  }
  const tables = async (which: string): Promise<string[]> =>
    (
      await store.query<{ name: string }>(
        `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE c.relkind = 'r' AND ${which} ORDER BY 1`,
        [schemas],
      )
    ).map(({ name }) => name)

  it('reads and writes every table of its own', async () => {
    const own = await tables('n.nspname = ANY ($1)')
    expect(own.length).toBeGreaterThan(3)
    for (const table of own) {
      const [held] = await role.rows(`SELECT
        has_table_privilege('${table}', 'SELECT') AND has_table_privilege('${table}', 'INSERT')
        AND has_table_privilege('${table}', 'UPDATE') AND has_table_privilege('${table}', 'DELETE') AS all`)
      expect([table, held]).toEqual([table, { all: true }])
    }
  })

  it('sees no row of any other service, but for what is listed', async () => {
    const foreign = await tables("n.nspname <> ALL ($1) AND n.nspname NOT IN ('pg_catalog', 'information_schema')")
    expect(foreign).toContain('public._prisma_migrations')
    for (const table of foreign) {
      const outcome = await tried(`SELECT FROM ${table}`)
      expect([table, outcome]).toEqual([table, reads.includes(table) ? 'done' : forbidden])
    }
    for (const table of reads) await allRefused([`DELETE FROM ${table}`, `UPDATE ${table} SET removed = 0`])
  })

  if (service !== 'lifecycle') {
    it('can write the canvas in no way', async () => {
      const canvas = await tables("n.nspname <> ALL ($1) AND n.nspname = 'canvas'")
      expect(canvas.length).toBeGreaterThan(20)
      for (const table of canvas) {
        await allRefused([
          `INSERT INTO ${table} DEFAULT VALUES`,
          `DELETE FROM ${table}`,
          `TRUNCATE ${table} CASCADE`,
          `DROP TABLE ${table} CASCADE`,
          `ALTER TABLE ${table} DISABLE TRIGGER ALL`,
          `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`,
          `COPY ${table} FROM STDIN`,
          `CREATE TRIGGER t BEFORE INSERT ON ${table} EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
          `CREATE RULE r AS ON INSERT TO ${table} DO INSTEAD NOTHING`,
          `COMMENT ON TABLE ${table} IS 'x'`,
        ])
      }
      await allRefused([
        `UPDATE canvas.nodes SET status = 'done'`,
        'SELECT id FROM canvas.nodes FOR UPDATE',
        `MERGE INTO canvas.nodes n USING (VALUES (1)) v (x) ON true WHEN MATCHED THEN DELETE`,
        `SELECT canvas.lease_acquire('canvas', 'me', interval '1 day')`,
        `SELECT canvas.lease_release('canvas', 1)`,
        'SELECT canvas.fence_tables()',
        'DROP FUNCTION canvas.fence() CASCADE',
        'DROP SCHEMA canvas CASCADE',
        'CREATE TABLE canvas.mine (id int)',
        'GRANT ALL ON ALL TABLES IN SCHEMA canvas TO CURRENT_USER',
      ])
    })
  }

  it('can make nothing: no table, schema, function, type or object that stays', async () => {
    await allRefused([
      'CREATE TABLE public.mine (id int)',
      `CREATE TABLE ${schemas[0]}.mine (id int)`,
      'CREATE TEMP TABLE mine (id int)',
      'CREATE SCHEMA mine',
      "CREATE FUNCTION public.now() RETURNS text LANGUAGE sql AS 'SELECT 1'",
      'CREATE TYPE public.mine AS (id int)',
      'CREATE EXTENSION IF NOT EXISTS dblink',
      'CREATE ROLE mine',
      'ALTER TABLE public._prisma_migrations ADD mine int',
      "SELECT lo_from_bytea(0, 'kept')",
      'SELECT lo_create(0)',
      'SELECT lo_creat(-1)',
    ])
  })

  it('can become nobody else, nor more than it is', async () => {
    const [me, admin] = [await role.rows<{ name: string }>('SELECT current_user AS name'), store.url]
    const stranger = new URL(admin).username
    await allRefused([
      `SET ROLE ${stranger}`,
      `SET SESSION AUTHORIZATION ${stranger}`,
      'SET ROLE pg_write_all_data',
      ...withServices
        .filter((other) => other !== service)
        .flatMap((other) => [`SET ROLE ${new URL(store.urlFor(other)).username}`]),
      `GRANT ${stranger} TO ${me[0]?.name}`,
      `GRANT pg_write_all_data TO ${me[0]?.name}`,
      `ALTER ROLE ${me[0]?.name} SUPERUSER`,
      `ALTER ROLE ${me[0]?.name} CREATEROLE`,
      `ALTER ROLE ${stranger} PASSWORD 'x'`,
      'SET session_replication_role = replica',
      `ALTER DATABASE ${store.name} SET session_replication_role = replica`,
    ])
    expect(
      await role.rows(
        'SELECT FROM pg_auth_members WHERE member = (SELECT oid FROM pg_roles WHERE rolname = current_user)',
      ),
    ).toEqual([])
  })

  it('reaches no file, program, other database or session of another', async () => {
    const table = (await tables('n.nspname = ANY ($1)'))[0]
    await allRefused([
      `COPY ${table} TO PROGRAM 'cat'`,
      `COPY ${table} FROM PROGRAM 'echo'`,
      `COPY ${table} TO '/tmp/rights'`,
      `COPY ${table} FROM '/etc/passwd'`,
      "SELECT pg_read_file('PG_VERSION')",
      "SELECT pg_read_binary_file('PG_VERSION')",
      "SELECT pg_ls_dir('.')",
      "SELECT lo_import('/etc/passwd')",
      "SELECT lo_export(1, '/tmp/rights')",
      'SELECT pg_reload_conf()',
      'SELECT rolpassword FROM pg_authid',
      'SELECT pg_switch_wal()',
    ])
    expect(
      await Promise.all(
        ['ALTER SYSTEM SET fsync = off', 'CREATE DATABASE mine', `DROP DATABASE ${store.name}`].map((statement) =>
          openAdmin(store.urlFor(service)).then((alone) =>
            alone
              .run(statement)
              .then(
                () => 'done',
                ({ code }) => code,
              )
              .finally(() => alone.close()),
          ),
        ),
      ),
    ).toEqual([forbidden, forbidden, forbidden])
    for (const database of ['postgres', 'template1']) {
      await expect(openAdmin(withDatabase(store.urlFor(service), database))).rejects.toMatchObject({ code: forbidden })
    }
    const held = await openAdmin(store.url)
    const [session] = await held.rows<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    await allRefused([`SELECT pg_terminate_backend(${session?.pid})`, `SELECT pg_cancel_backend(${session?.pid})`])
    await held.close()
  })

  it('can hold up nobody by a lock that is not its own', async () => {
    const found = await store.query<{ name: string }>(
      "SELECT oid::regprocedure::text AS name FROM pg_proc WHERE proname ~ '^pg_(try_)?advisory_'",
    )
    expect(found.length).toBeGreaterThan(10)
    for (const { name } of found) {
      const [held] = await role.rows(`SELECT has_function_privilege('${name}', 'EXECUTE') AS held`)
      expect([name, held]).toEqual([name, { held: functions.includes(name) }])
    }
  })
})

describe('the list of roles', () => {
  it('has every schema of the services once, so that each has one writer', () => {
    const schemas = serviceRoles.flatMap((role) => role.schemas)
    expect(new Set(schemas).size).toBe(schemas.length)
    expect(others).not.toContain('host')
  })

  it('lets the canvas be written by lifecycle alone', async () => {
    const writers = await store.query<{ grantee: string }>(
      `SELECT DISTINCT grantee FROM information_schema.table_privileges
        WHERE table_schema = 'canvas' AND privilege_type <> 'SELECT' AND grantee <> current_user`,
    )
    expect(writers).toEqual([{ grantee: new URL(store.urlFor('lifecycle')).username }])
  })
})
