import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The directory of package.json, with migrations beside it and what was built in `dist`. */
export const projectRoot: string = findUp(dirname(fileURLToPath(import.meta.url)))

function findUp(directory: string): string {
  if (existsSync(join(directory, 'package.json'))) return directory
  const parent = dirname(directory)
  if (parent === directory) throw new Error('package.json was not found above the launcher')
  return findUp(parent)
}
