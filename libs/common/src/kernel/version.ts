import { readFileSync } from 'node:fs'

interface OwnPackage {
  /** The directory of package.json, with a slash at its end. */
  readonly root: URL
  readonly version: string
}

const findPackage = (from: URL): OwnPackage => {
  for (let at = new URL('./', from); ; at = new URL('../', at)) {
    try {
      const found = JSON.parse(readFileSync(new URL('package.json', at), 'utf8')) as { name?: string; version: string }
      if (found.name === 'svc') return { root: at, version: found.version }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    if (at.pathname === '/') throw new Error('package.json of svc was not found above this file')
  }
}

const own = findPackage(new URL(import.meta.url))

/** The daemon's version, as package.json states it. */
export const version: string = own.version

/** Where what is shipped beside the code stands, such as `docs/`. */
export const packageRoot: URL = own.root

/** Versions speak to each other when their first non-zero number is the same. */
export const speaksWith = (other: string): boolean => {
  const line = (text: string): string => {
    const [major = '', minor = ''] = text.split('.')
    return major === '0' ? `0.${minor}` : major
  }
  return line(other) === line(version)
}
