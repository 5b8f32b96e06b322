import { createHash } from 'node:crypto'
import type { ServiceName } from '../../contract/define.js'

export interface ServiceRole {
  readonly service: ServiceName
  /** Schemas whose rows it reads and writes. */
  readonly schemas: readonly string[]
  /** Tables of other services that it reads; besides these it sees nothing of theirs. */
  readonly reads?: readonly string[]
  /** Functions of Postgres that only it may call, where nobody else's work depends on them. */
  readonly functions?: readonly string[]
}

/** Every service that uses the database. The host, beside which agents' programs run, has no way there at all. */
export const serviceRoles: readonly ServiceRole[] = [
  { service: 'gateway', schemas: ['gateway'] },
  {
    service: 'lifecycle',
    schemas: ['canvas'],
    // what was cleared, of all services in one answer
    reads: ['models.retention', 'scheduler.retention', 'objects.retention'],
    // the fence of the canvas
    functions: ['pg_advisory_xact_lock(integer,integer)', 'pg_advisory_xact_lock_shared(integer,integer)'],
  },
  // by its lock a replica sees that another lives
  { service: 'models', schemas: ['models'], functions: ['pg_advisory_lock(bigint)'] },
  { service: 'scheduler', schemas: ['scheduler'] },
  { service: 'objects', schemas: ['objects'] },
]

/**
 * Functions that everybody may call by default and that leave something behind for all: stored objects, and locks that
 * hold up whoever waits for them.
 */
export const leavingTraces = "proname IN ('lo_creat', 'lo_create', 'lo_from_bytea') OR proname ~ '^pg_(try_)?advisory_'"

/** Postgres cuts longer names off without an error. */
const longestName = 63

/**
 * Name of a service's role. Roles belong to a whole server: on one with several databases of ours each has roles of its
 * own, except the one that is named like its account, or `postgres`.
 */
export const roleNameOf = (admin: string, database: string, service: ServiceName): string => {
  const base = database === admin || database === 'postgres' ? admin : `${admin}_${database}`
  const name = `${base}_${service}`
  if (Buffer.byteLength(name) <= longestName) return name
  return `svc_${createHash('sha256').update(base).digest('hex').slice(0, 16)}_${service}`
}

/** The same server and database as another account. */
export const urlAs = (url: string, user: string, password: string): string => {
  const address = new URL(url)
  // as parameters these would win over what stands before the host
  for (const name of ['user', 'password']) address.searchParams.delete(name)
  if (address.hostname) Object.assign(address, { username: encodeURIComponent(user), password })
  else {
    address.searchParams.set('user', user)
    address.searchParams.set('password', password)
  }
  return address.href
}

/** What the account that sets the roles up may not do, or what its server doesn't admit. */
export class NotPermitted extends Error {}
