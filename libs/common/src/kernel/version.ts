import { readFileSync } from 'node:fs'

const findPackage = (from: URL): { version: string } => {
  for (let at = new URL('./', from); ; at = new URL('../', at)) {
    try {
      const found = JSON.parse(readFileSync(new URL('package.json', at), 'utf8')) as { name?: string; version: string }
      if (found.name === 'svc') return found
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
    if (at.pathname === '/') throw new Error('package.json of svc was not found above this file')
  }
}

/** The daemon's version, as package.json states it. */
export const version: string = findPackage(new URL(import.meta.url)).version

/** Versions speak to each other when their first non-zero number is the same. */
export const speaksWith = (other: string): boolean => {
  const line = (text: string): string => {
    const [major = '', minor = ''] = text.split('.')
    return major === '0' ? `0.${minor}` : major
  }
  return line(other) === line(version)
}
