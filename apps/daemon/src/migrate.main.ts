import { join } from 'node:path'
import { createLogger } from '#common/kernel/log.js'
import { withSecretFiles } from '#common/kernel/secret-files.js'
import { readIfPresent } from '#common/kernel/servers/private-file.js'
import { serviceDatabases } from './service-databases.js'

// One shot, for deployments with a container a service: brings the database of DATABASE_URL up to date, gives each
// service its role, and ends. SVC_ROLE_PASSWORDS_DIR names a directory with a file `<service>.password` for each.
const log = createLogger('migrate')
try {
  const { DATABASE_URL: url, SVC_DATABASE_ROLES, SVC_ROLE_PASSWORDS_DIR: directory } = withSecretFiles(process.env)
  if (!url) throw new Error('DATABASE_URL (or DATABASE_URL_FILE) is not set')
  const roles = SVC_DATABASE_ROLES === 'shared' ? 'shared' : 'own'
  if (roles === 'own' && !directory) {
    throw new Error('SVC_ROLE_PASSWORDS_DIR is not set: it names the directory with a file <service>.password for each')
  }
  const passwordOf = (service: string): string => {
    const file = join(directory as string, `${service}.password`)
    const password = readIfPresent(file)?.trim()
    if (!password) throw new Error(`${file} has no password for the role of ${service}`)
    return password
  }
  await serviceDatabases({ url, roles, passwordOf, log })
} catch (error) {
  log.fatal({ err: error }, `can’t migrate: ${(error as Error).message}`)
  process.exitCode = 1
}
