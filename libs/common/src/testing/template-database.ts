import { fileURLToPath } from 'node:url'
import { prepareDatabase } from '../kernel/database/migrate.js'
import { silentLog } from '../kernel/servers/server-log.js'
import { openAdmin } from './admin-connection.js'
import { testPasswordOf, withDatabase } from './database.js'

const name = 'svc_template'
/** From dist/libs/common/src/testing. */
const migrations = fileURLToPath(new URL('../../../../../prisma/migrations', import.meta.url))

/** A database with every migration applied, the roles of the services, and nobody connected, to be copied by each suite; answers its name. */
export async function makeTemplate(adminUrl: string): Promise<string> {
  const admin = await openAdmin(adminUrl)
  try {
    await admin.run(`CREATE DATABASE ${name}`)
    await prepareDatabase(migrations, {
      url: withDatabase(adminUrl, name),
      passwordOf: testPasswordOf,
      log: silentLog,
      // suites that run side by side share the roles
      connections: -1,
    })
    // From here on a connection would only hold up the copying.
    await admin.run(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false IS_TEMPLATE true`)
  } finally {
    await admin.close()
  }
  return name
}
