import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { ensureRoles, type RoleOptions, type UrlFor } from './roles.js'

/** Key of the advisory lock under which migrations run; the one that Prisma's own command line takes. */
const LOCK = 72707369
/** A schema at version n serves code at n−1, so that services can be replaced one by one. */
const NEWER_ALLOWED = 1

const TABLE = `CREATE TABLE IF NOT EXISTS public._prisma_migrations (
  id varchar(36) PRIMARY KEY, checksum varchar(64) NOT NULL, finished_at timestamptz, migration_name varchar(255) NOT NULL,
  logs text, rolled_back_at timestamptz, started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`
const APPLIED = `SELECT migration_name, checksum, finished_at FROM public._prisma_migrations
  WHERE rolled_back_at IS NULL ORDER BY migration_name`
const RECORD = `INSERT INTO public._prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
  VALUES ($1, $2, clock_timestamp(), $3, 1)`

interface Migration {
  readonly name: string
  readonly sql: string
  readonly checksum: string
}

interface Applied {
  readonly migration_name: string
  readonly checksum: string
  readonly finished_at: Date | null
}

export interface MigrationOutcome {
  /** Names of the migrations that this call applied, in order. */
  readonly applied: readonly string[]
  /** Name of the newest migration in the database. */
  readonly at: string | undefined
}

const readMigrations = (directory: string): Migration[] =>
  readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
    .map((name) => {
      const sql = readFileSync(join(directory, name, 'migration.sql'), 'utf8')
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
    })

const refuseDifferences = (known: readonly Migration[], applied: readonly Applied[]): void => {
  const byName = new Map(known.map((migration) => [migration.name, migration]))
  const unfinished = applied.find((row) => row.finished_at === null)
  if (unfinished) {
    throw new Error(
      `Migration ${unfinished.migration_name} was begun by another tool and never finished; repair the database or restore a backup, then remove its row from _prisma_migrations.`,
    )
  }
  const edited = applied.find(
    (row) => byName.has(row.migration_name) && byName.get(row.migration_name)?.checksum !== row.checksum,
  )
  if (edited) {
    throw new Error(
      `Migration ${edited.migration_name} was changed after it had been applied to this database; restore the file and put the change into a new migration.`,
    )
  }
  const newest = known.at(-1)?.name ?? ''
  const foreign = applied.filter((row) => !byName.has(row.migration_name)).map((row) => row.migration_name)
  const newer = foreign.filter((name) => name > newest)
  if (newer.length < foreign.length || newer.length > NEWER_ALLOWED) {
    throw new Error(
      `The database has migrations that this version does not know (${foreign.join(', ')}); start a version that knows them, or restore an older backup.`,
    )
  }
}

const apply = async (client: pg.Client, migration: Migration): Promise<void> => {
  try {
    await client.query('BEGIN')
    await client.query(migration.sql)
    await client.query(RECORD, [randomUUID(), migration.checksum, migration.name])
    await client.query('COMMIT')
  } catch (cause) {
    throw new Error(`Migration ${migration.name} failed and was undone: ${(cause as Error).message}`, { cause })
  }
}

const migrate = async (client: pg.Client, directory: string): Promise<MigrationOutcome> => {
  const known = readMigrations(directory)
  const { rows: tables } = await client.query<{ there: boolean }>(
    `SELECT to_regclass('public._prisma_migrations') IS NOT NULL AS there`,
  )
  if (!tables[0]?.there) await client.query(TABLE)
  const { rows: applied } = await client.query<Applied>(APPLIED)
  refuseDifferences(known, applied)
  const done = new Set(applied.map((row) => row.migration_name))
  const missing = known.filter((migration) => !done.has(migration.name))
  for (const migration of missing) await apply(client, migration)
  const names = [...done, ...missing.map((migration) => migration.name)].sort()
  return { applied: missing.map((migration) => migration.name), at: names.at(-1) }
}

const underLock = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'svc migrate',
    connectionTimeoutMillis: 10_000,
  })
  await client.connect()
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK])
    return await work(client)
  } finally {
    await client.end()
  }
}

/**
 * Brings a database to the newest migration of a directory, one transaction a migration; callers that come at the same
 * time wait for each other. The table of applied ones is Prisma's own, so that its command line works on the database too.
 *
 * @throws Error when an applied migration was edited, when one failed, or when the database is more than one ahead.
 */
export const applyMigrations = (url: string, directory: string): Promise<MigrationOutcome> =>
  underLock(url, (client) => migrate(client, directory))

/** As `applyMigrations`, and then gives each service its role, before anybody else comes in. @throws as `ensureRoles` too */
export const prepareDatabase = (
  directory: string,
  roles: RoleOptions,
): Promise<MigrationOutcome & { readonly urlFor: UrlFor }> =>
  underLock(roles.url, async (client) => ({
    ...(await migrate(client, directory)),
    urlFor: await ensureRoles(client, roles),
  }))
