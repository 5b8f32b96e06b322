import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'
import type { DataDirectory } from './data-directory.js'
import { canInstall, installPackages } from './package-install.js'
import type { ServerLog } from './server-log.js'

/** What nodes work with, and the packages that bring it. */
const tools: Readonly<Record<string, string>> = { bwrap: 'bubblewrap', git: 'git', rg: 'ripgrep' }

/**
 * Installs what is missing of the programs that hold and serve nodes, where this process may. What can't be had is not
 * fatal: whoever needs it says so.
 */
export async function installMissingTools(data: DataDirectory, log: ServerLog): Promise<void> {
  const missing = Object.keys(tools).filter((program) => !isThere(program))
  if (missing.length === 0 || !canInstall()) return
  try {
    await installPackages(
      missing.map((program) => tools[program] as string),
      join(data.log, 'install.log'),
      log,
    )
  } catch (error) {
    log.warn({ err: error }, 'the missing tools could not be installed')
  }
}

function isThere(program: string): boolean {
  const directories = [...(process.env.PATH ?? '').split(':'), '/usr/local/bin', '/usr/bin', '/bin']
  return directories
    .filter((directory) => directory.startsWith('/'))
    .some((directory) => {
      try {
        accessSync(join(directory, program), constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}
