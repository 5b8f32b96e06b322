import { lstatSync, readlinkSync } from 'node:fs'

/** What stands at a path: nothing, a directory, something that is none, or a link and where it leads. */
export type Look = (path: string) => 'nothing' | 'directory' | 'other' | { readonly target: string }

export const lookAt: Look = (path) => {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat) return 'nothing'
  if (stat.isSymbolicLink()) return { target: readlinkSync(path) }
  return stat.isDirectory() ? 'directory' : 'other'
}
