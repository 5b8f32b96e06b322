import { resolve } from 'node:path'

/** The daemon takes absolute paths: others count from where the command is called. A slash at the end is kept. */
export const absolute = (path: string): string => `${resolve(path)}${/.\/$/.test(path) ? '/' : ''}`
