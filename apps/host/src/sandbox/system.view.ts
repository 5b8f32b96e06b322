import { readdir } from 'node:fs/promises'
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
  const masked = await Promise.all(
    Object.entries(searched)
      .filter(([path]) => shown.some((place) => within(path, place)))
      .map(([path, depth]) => closedTo(path, depth)),
  )
  return { shown: [...new Set([...shown, ...(await exists(installation.shown))])], masked: masked.flat() }
}

/** What of a directory not everybody may read. */
const closedTo = async (directory: string, depth: number): Promise<string[]> => {
  const { lstat } = await import('node:fs/promises')
  const found: string[] = []
  const walk = async (at: string, left: number): Promise<void> => {
    const entries = await readdir(at, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const path = join(at, entry.name)
      if (entry.isSymbolicLink()) continue
      const mode = (await lstat(path).catch(() => undefined))?.mode
      if (mode === undefined) continue
      const open = entry.isDirectory() ? (mode & 0o005) === 0o005 : (mode & 0o004) === 0o004
      if (!open) found.push(path)
      else if (entry.isDirectory() && left > 0) await walk(path, left - 1)
    }
  }
  if ((await entryAt(directory)) === 'directory') await walk(directory, depth)
  return found.length > mostMasked ? [directory] : found
}
