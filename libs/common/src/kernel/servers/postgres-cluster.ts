import { execFile, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openLogFile, tailOf } from './log-file.js'
import type { Account, ServerProgram } from './server-programs.js'

export interface NewCluster {
  /** Where the cluster is to be. */
  cluster: string
  /** A directory of the database's account, for the moment that the password stands in a file. */
  scratch: string
  role: string
  password: string
  account: Account | undefined
  initdb: ServerProgram
  logFile: string
}

export function clusterExists(cluster: string): boolean {
  return existsSync(join(cluster, 'PG_VERSION'))
}

/** A 0700 directory of the database's account. */
export function openTo(path: string, account: Account | undefined): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  chmodSync(path, 0o700)
  if (account) chownSync(path, account.uid, account.gid)
}

/**
 * Makes a cluster beside its final place and moves it there when it is whole: a start that is killed half-way leaves
 * nothing that looks like a database.
 */
export async function createCluster(options: NewCluster): Promise<void> {
  const draft = `${options.cluster}.new`
  rmSync(draft, { recursive: true, force: true })
  openTo(draft, options.account)
  const passwordFile = join(options.scratch, 'password')
  writeFileSync(passwordFile, options.password, { mode: 0o600 })
  try {
    if (options.account) chownSync(passwordFile, options.account.uid, options.account.gid)
    await runInitdb(options, draft)
  } finally {
    rmSync(passwordFile, { force: true })
  }
  // One flush of the file system costs far less than initdb's own, file by file.
  await promisify(execFile)('sync', ['--file-system', draft])
  renameSync(draft, options.cluster)
}

async function runInitdb(options: NewCluster, draft: string): Promise<void> {
  const { initdb, scratch, role, account, logFile } = options
  const byDescriptor = initdb.origin === 'native'
  const place = byDescriptor
    ? { draft: '/proc/self/fd/3', scratch: '/proc/self/fd/4' }
    : { draft: initdb.at(draft), scratch: initdb.at(scratch) }
  const { command, args, env } = initdb.command({
    args: [
      ...['-D', place.draft, '--username', role, '--pwfile', `${place.scratch}/password`, '--auth', 'scram-sha-256'],
      ...['--encoding', 'UTF8', '--locale', 'C.UTF-8', '--no-sync', '--no-instructions'],
    ],
    mounts: [draft, scratch],
    account,
  })
  const out = openLogFile(logFile)
  const directories = byDescriptor ? [draft, scratch].map((path) => openSync(path, 'r')) : []
  try {
    await new Promise<void>((resolve, reject) => {
      const child = spawn(command, args, { cwd: '/', stdio: ['ignore', out, out, ...directories], env })
      child.once('error', reject)
      child.once('exit', (code) => {
        if (code === 0) resolve()
        else reject(new Error(`initdb failed (${code}). From ${logFile}:\n${tailOf(logFile)}`))
      })
    })
  } finally {
    for (const file of [out, ...directories]) closeSync(file)
  }
}
