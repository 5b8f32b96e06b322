import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { DataDirectory } from './data-directory.js'
import { readIfPresent } from './private-file.js'
import { findMarked, isAlive, type ProcessIdentity, parseIdentity } from './process-identity.js'

/**
 * Every living process that serves this data directory, the daemon and this process left out: by its mark, and by the
 * files that name servers and host, since a program may write over its environment.
 */
export function processesOf({ run, mark }: Pick<DataDirectory, 'run' | 'mark'>): ProcessIdentity[] {
  const marked = findMarked(mark)
  const known = new Set([process.pid, ...marked.map(({ pid }) => pid)])
  const named = readdirSync(run)
    .filter((name) => name.endsWith('.pid'))
    .flatMap((name) => parseIdentity(readIfPresent(join(run, name)) ?? '') ?? [])
    .filter((identity) => !known.has(identity.pid) && isAlive(identity))
  return [...marked, ...named]
}
