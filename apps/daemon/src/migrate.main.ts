import { join } from 'node:path'
import { applyMigrations } from '#common/kernel/database/migrate.js'
import { createLogger } from '#common/kernel/log.js'
import { withSecretFiles } from '#common/kernel/secret-files.js'
import { projectRoot } from './project-root.js'

// One shot, for deployments with a container a service: brings the database of DATABASE_URL up to date and ends.
const log = createLogger('migrate')
try {
  const { DATABASE_URL } = withSecretFiles(process.env)
  if (!DATABASE_URL) throw new Error('DATABASE_URL (or DATABASE_URL_FILE) is not set')
  const outcome = await applyMigrations(DATABASE_URL, join(projectRoot, 'prisma/migrations'))
  log.info(outcome, 'the database is up to date')
} catch (error) {
  log.fatal({ err: error }, `can’t migrate: ${(error as Error).message}`)
  process.exitCode = 1
}
