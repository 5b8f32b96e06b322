import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openAdmin } from './admin-connection.js'
import { withDatabase } from './database.js'

const name = 'svc_template'

/** A database with every migration applied and nobody connected, to be copied by each suite; answers its name. */
export async function makeTemplate(adminUrl: string): Promise<string> {
  const admin = await openAdmin(adminUrl)
  try {
    await admin.run(`CREATE DATABASE ${name}`)
    const fresh = await openAdmin(withDatabase(adminUrl, name))
    for (const folder of readdirSync('prisma/migrations').sort())
      if (!folder.includes('.'))
        await fresh.run(readFileSync(join('prisma/migrations', folder, 'migration.sql'), 'utf8'))
    await fresh.close()
    // From here on a connection would only hold up the copying.
    await admin.run(`ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false IS_TEMPLATE true`)
  } finally {
    await admin.close()
  }
  return name
}
