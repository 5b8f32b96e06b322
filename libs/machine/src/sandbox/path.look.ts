import { lstatSync, readlinkSync, realpathSync } from 'node:fs'

/** What stands at a path: nothing, a directory, something that is none, or a link and where it leads. */
export type Look = (path: string) => 'nothing' | 'directory' | 'other' | { readonly target: string }

export const lookAt: Look = (path) => {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat) return 'nothing'
  if (stat.isSymbolicLink()) return { target: readlinkSync(path) }
  return stat.isDirectory() ? 'directory' : 'other'
}

/** The first of these real paths that leads somewhere else by now. */
export const firstMoved = (paths: readonly string[]): string | undefined =>
  paths.find((path) => {
    try {
      return realpathSync.native(path) !== path
    } catch {
      // Gone, or closed to this account: whoever mounts it is told so.
      return false
    }
  })
