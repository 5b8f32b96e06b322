// The project's source files, as the build, the checks and the tests all see them.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** Every file below `folders` (paths from the root) whose name `wanted` accepts; sorted, relative to the root. */
export function listFiles(folders, wanted) {
  const found = []
  for (const folder of folders) {
    if (!existsSync(join(root, folder))) continue
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !wanted(entry.name)) continue
      const path = join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1)
      if (!/(^|\/)(node_modules|dist)\//.test(path)) found.push(path)
    }
  }
  return found.sort()
}

export const hashOf = (content) => createHash('sha256').update(content).digest('hex').slice(0, 16)

/** One hash over the contents of `paths` (relative to the root); a missing file counts as empty. */
export function hashFiles(paths) {
  const hash = createHash('sha256')
  for (const path of paths) {
    hash.update(`\0${path}\0`)
    if (existsSync(join(root, path))) hash.update(readFileSync(join(root, path)))
  }
  return hash.digest('hex').slice(0, 16)
}
