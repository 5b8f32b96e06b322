import { type Dirent, lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Installation } from './installation.js'
import { entryAt, realPath, within } from './real.paths.js'

/** Where programs, libraries and their settings are; what isn't there is left out. */
const places = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/opt', '/etc', '/nix', '/gnu', '/snap']
/** Trust stores and name lookup that /etc links to on some systems. */
const behindEtc = [
  '/etc/resolv.conf',
  '/etc/ssl/certs',
  '/etc/pki',
  '/etc/hosts',
  '/etc/localtime',
  '/run/current-system',
]
/** Searched for what isn't everybody's, to this depth. */
const searched: Readonly<Record<string, number>> = { '/etc': 12, '/opt': 3, '/usr/local/etc': 6 }
/** More than this is a directory of somebody's own making: it is hidden as a whole then. */
const mostMasked = 500

export interface SystemView {
  /** Shown read-only. */
  readonly shown: readonly string[]
  /** Inside of it, what only some accounts may read: the host's own may be one of them. */
  readonly masked: readonly string[]
}

const exists = async (paths: readonly string[]): Promise<string[]> => {
  const found = await Promise.all(paths.map(async (path) => ((await entryAt(path)) ? [path] : [])))
  return found.flat()
}

/** Looks at the machine once: what nodes see of it. `more`: what the owner adds. */
export const readSystemView = async (installation: Installation, more: readonly string[]): Promise<SystemView> => {
  const shown = await exists([...places, ...more])
  for (const path of behindEtc) {
    const real = await realPath(path)
    if (real && !shown.some((place) => within(real, place))) shown.push(real)
    if (real && path.startsWith('/run/')) shown.push(path)
  }
  const masked = Object.entries(searched)
    .filter(([path]) => shown.some((place) => within(path, place)))
    .flatMap(([path, depth]) => closedTo(path, depth))
  return { shown: [...new Set([...shown, ...(await exists(installation.shown))])], masked }
}

/**
 * What of a directory not everybody may read. At once and not by turns: thousands of looks take 20 ms that way, ten times
 * as much by promises, and nothing else is to be done before.
 */
const closedTo = (directory: string, depth: number): string[] => {
  const found: string[] = []
  const walk = (at: string, left: number): void => {
    for (const entry of entriesOf(at)) {
      const path = join(at, entry.name)
      if (entry.isSymbolicLink()) continue
      const mode = modeOf(path)
      if (mode === undefined) continue
      const open = entry.isDirectory() ? (mode & 0o005) === 0o005 : (mode & 0o004) === 0o004
      if (!open) found.push(path)
      else if (entry.isDirectory() && left > 0) walk(path, left - 1)
    }
  }
  if (lstatSync(directory, { throwIfNoEntry: false })?.isDirectory()) walk(directory, depth)
  return found.length > mostMasked ? [directory] : found
}

const modeOf = (path: string): number | undefined => {
  try {
    return lstatSync(path).mode
  } catch {
    // Gone meanwhile, or closed to this account as well.
    return undefined
  }
}

const entriesOf = (directory: string): Dirent[] => {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch {
    // Gone meanwhile.
    return []
  }
}
