import { randomBytes } from 'node:crypto'
import type { ServiceName } from '../contract/define.js'
import { roleNameOf, serviceRoles, urlAs } from '../kernel/database/service-roles.js'
import { openAdmin } from './admin-connection.js'
import { required } from './test-environment.js'

export interface TestDatabase {
  /** Connection string with full rights on this database alone. */
  url: string
  /** As a service reaches it: with the rights of its role and no more. */
  urlFor(service: ServiceName): string
  name: string
  /** Plain look at the rows. */
  query<T = Record<string, unknown>>(sql: string, values?: unknown[]): Promise<T[]>
  /** Ends every connection to it and removes it. Idempotent. */
  drop(): Promise<void>
}

/** The roles are one set for all databases of a run, whose server only this machine reaches. */
export const testPasswordOf = (service: ServiceName): string => `password-of-${service}`

/** A database of one's own with all migrations applied, copied from the template of this run (about 50 ms). */
export async function testDatabase(): Promise<TestDatabase> {
  const adminUrl = required('SVC_TEST_POSTGRES_URL')
  const template = required('SVC_TEST_TEMPLATE')
  const roleOf = (service: ServiceName): string => roleNameOf(new URL(adminUrl).username, template, service)
  const name = `t_${randomBytes(8).toString('hex')}`
  const admin = await openAdmin(adminUrl)
  try {
    await admin.run(`CREATE DATABASE ${name} TEMPLATE ${template}`)
    // rights inside a database are copied with it, those to connect are not
    const roles = serviceRoles.map(({ service }) => roleOf(service)).join()
    await admin.run(`REVOKE ALL ON DATABASE ${name} FROM PUBLIC; GRANT CONNECT ON DATABASE ${name} TO ${roles}`)
  } finally {
    await admin.close()
  }
  const url = withDatabase(adminUrl, name)
  return {
    url,
    urlFor: (service) => urlAs(url, roleOf(service), testPasswordOf(service)),
    name,
    query: async <T>(sql: string, values?: unknown[]) => {
      const connection = await openAdmin(url)
      try {
        return await connection.rows<T>(sql, values)
      } finally {
        await connection.close()
      }
    },
    drop: async () => {
      const connection = await openAdmin(adminUrl)
      try {
        await connection.run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      } finally {
        await connection.close()
      }
    },
  }
}

/** The same server and account, another database. */
export function withDatabase(url: string, name: string): string {
  const address = new URL(url)
  address.pathname = `/${name}`
  return address.href
}
