import { join } from 'node:path'
import type { ServiceName } from '#common/contract/define.js'
import { applyMigrations, prepareDatabase } from '#common/kernel/database/migrate.js'
import type { UrlFor } from '#common/kernel/database/roles.js'
import type { ServerLog } from '#common/kernel/servers/server-log.js'
import { projectRoot } from './project-root.js'

export interface ServiceDatabases {
  /** Of an account that owns the database. */
  readonly url: string
  /** `shared`: every service comes in as that account, since it may not make roles. */
  readonly roles: 'own' | 'shared'
  readonly passwordOf: (service: ServiceName) => string
  readonly log: ServerLog
}

const migrations = join(projectRoot, 'prisma/migrations')

/** Brings the database up to date and answers how each service reaches it. @throws as `prepareDatabase` */
export const serviceDatabases = async ({ url, roles, passwordOf, log }: ServiceDatabases): Promise<UrlFor> => {
  if (roles === 'own') {
    const { urlFor, ...outcome } = await prepareDatabase(migrations, { url, passwordOf, log })
    log.info(outcome, 'the database is up to date')
    return urlFor
  }
  log.info(await applyMigrations(url, migrations), 'the database is up to date')
  log.warn(
    { setting: 'SVC_DATABASE_ROLES=shared' },
    'all services share one account of the database: each of them can write everything in it, the canvas too',
  )
  return () => url
}
