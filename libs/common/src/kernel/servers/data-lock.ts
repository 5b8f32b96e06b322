import { linkSync, renameSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { DataDirectory } from './data-directory.js'
import { readIfPresent, removeIfPresent, writePrivateFile } from './private-file.js'
import { isAlive, ownIdentity, type ProcessIdentity, parseIdentity } from './process-identity.js'

export interface DataLock {
  release(): void
}

/** Another living daemon serves this data directory. */
export class DataDirectoryBusy extends Error {
  constructor(
    readonly path: string,
    readonly pid: number,
  ) {
    super(
      `Another svc daemon (pid ${pid}) is running on ${path}. ` +
        'Use it as it is, stop it with `svc sys down`, or set SVC_DATA_DIR to another directory.',
    )
  }
}

/**
 * One daemon a data directory. The lock is a file that names its holder; a dead holder's file is taken over, so a
 * SIGKILL or a power cut needs nobody to clean up. Throws DataDirectoryBusy.
 */
export function acquireDataLock(data: DataDirectory): DataLock {
  const path = join(data.run, 'daemon.lock')
  const draft = `${path}.${process.pid}`
  const own = ownIdentity()
  writePrivateFile(draft, JSON.stringify(own))
  try {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      if (linkUnlessPresent(draft, path)) return { release: () => release(path, own) }
      const holder = readHolder(path)
      if (holder && isAlive(holder)) throw new DataDirectoryBusy(data.path, holder.pid)
      takeAway(path)
    }
  } finally {
    removeIfPresent(draft)
  }
  throw new Error(`Could not lock ${path}: other processes keep taking and leaving it`)
}

/** The daemon that holds this directory now, if any. */
export function lockHolder(data: Pick<DataDirectory, 'run'>): ProcessIdentity | undefined {
  const holder = readHolder(join(data.run, 'daemon.lock'))
  return holder && isAlive(holder) ? holder : undefined
}

/**
 * Moves a dead holder's file aside. Somebody else may have done so, and locked, since it was read: then what was moved
 * is a living lock, and goes back.
 */
function takeAway(path: string): void {
  const aside = `${path}.${process.pid}.stale`
  try {
    renameSync(path, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  const moved = readHolder(aside)
  if (moved && isAlive(moved)) linkUnlessPresent(aside, path)
  unlinkSync(aside)
}

function release(path: string, own: ProcessIdentity): void {
  const holder = readHolder(path)
  if (holder?.pid === own.pid && holder.startTicks === own.startTicks) removeIfPresent(path)
}

function readHolder(path: string): ProcessIdentity | undefined {
  const text = readIfPresent(path)
  return text === undefined ? undefined : parseIdentity(text)
}

function linkUnlessPresent(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
