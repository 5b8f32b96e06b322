import { execFile, spawn } from 'node:child_process'
import { closeSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { openLogFile, tailOf } from './log-file.js'
import type { ServerLog } from './server-log.js'

const policyFile = '/usr/sbin/policy-rc.d'
const clusterFile = '/etc/postgresql-common/createcluster.conf'

/** True for root on Debian, Ubuntu and their kin. */
export function canInstall(): boolean {
  return process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')
}

/**
 * Installs Debian packages without letting servers among them start: only the programs are wanted, and a database or a
 * bus on the machine's public ports is not. apt's output goes to `logFile`. Throws with its end.
 */
export async function installPackages(names: string[], logFile: string, log: ServerLog): Promise<void> {
  log.info({ packages: names, log: logFile }, 'installing what is missing from the system packages')
  const ownPolicy = !existsSync(policyFile)
  // Exit 101 is policy-rc.d's word for "action not allowed".
  if (ownPolicy) writeFileSync(policyFile, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    await apt(['update'], logFile)
    if (names.some((name) => name.startsWith('postgresql')) && !existsSync(clusterFile)) {
      await apt(['install', '--yes', '--no-install-recommends', 'postgresql-common'], logFile)
      writeFileSync(clusterFile, 'create_main_cluster = false\n')
    }
    await apt(['install', '--yes', '--no-install-recommends', ...names], logFile)
  } finally {
    if (ownPolicy) rmSync(policyFile, { force: true })
  }
  const services = names.filter((name) => name.endsWith('-server'))
  if (services.length && existsSync('/run/systemd/system')) await keepOff(services, log)
}

/** What the packages enabled for the next boot would be a second server beside ours. */
async function keepOff(units: string[], log: ServerLog): Promise<void> {
  try {
    await promisify(execFile)('systemctl', ['disable', ...units])
  } catch (error) {
    log.warn({ units, err: error }, 'could not disable the packages’ own services')
  }
}

function apt(args: string[], logFile: string): Promise<void> {
  const out = openLogFile(logFile)
  return new Promise<void>((resolve, reject) => {
    const child = spawn('apt-get', ['--option', 'Dpkg::Options::=--force-confold', ...args], {
      stdio: ['ignore', out, out],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    child.once('error', reject)
    child.once('exit', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`apt-get ${args.join(' ')} failed (${code}). From ${logFile}:\n${tailOf(logFile)}`))
    })
  }).finally(() => closeSync(out))
}
