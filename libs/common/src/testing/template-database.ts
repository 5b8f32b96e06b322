import { fileURLToPath } from 'node:url'
import { applyMigrations } from '../kernel/database/migrate.js'
import { openAdmin } from './admin-connection.js'
import { withDatabase } from './database.js'

const name = 'svc_template'
/** From dist/libs/common/src/testing. */
const migrations = fileURLToPath(new URL('../../../../../prisma/migrations', import.meta.url))

/** A database with every migration applied and nobody connected, to be copied by each suite; answers its name. */
export async function makeTemplate(adminUrl: string): Promise<string> {
  const admin = await openAdmin(adminUrl)
  try {
    await admin.run(`CREATE DATABASE ${name}`)
    await applyMigrations(withDatabase(adminUrl, name), migrations)
    // From here on a connection would only hold up the copying.
    await admin.run(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false IS_TEMPLATE true`)
  } finally {
    await admin.close()
  }
  return name
}
