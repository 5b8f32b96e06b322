import { lstat, readlink, realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

/** Whether `inner` is `outer` or lies beneath it; both absolute and without `..`. */
export const within = (inner: string, outer: string): boolean =>
  inner === outer || inner.startsWith(outer === '/' ? '/' : `${outer}/`)

const missing = ['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ENAMETOOLONG']

/** For `catch`: undefined where no file stands that this account may read. What fails otherwise says nothing of the path. */
export const ifNoneToRead = (error: NodeJS.ErrnoException): undefined => {
  if (![...missing, 'EISDIR', 'EPERM', 'ENXIO', 'ENODEV'].includes(error.code ?? '')) throw error
}

/** Where a path really leads; undefined when nothing is there, or nothing that this account may look at. */
export const realPath = async (path: string): Promise<string | undefined> => {
  try {
    return await realpath(path)
  } catch (error) {
    if (missing.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

export type Entry = 'file' | 'directory' | 'link' | 'other'

/** What stands at a path itself; undefined when nothing does. */
export const entryAt = async (path: string): Promise<Entry | undefined> => {
  try {
    const stat = await lstat(path)
    if (stat.isSymbolicLink()) return 'link'
    if (stat.isDirectory()) return 'directory'
    return stat.isFile() ? 'file' : 'other'
  } catch (error) {
    if (missing.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}

/** Links that a name passes on its way: in a view that shows the real place alone, the name leads nowhere without them. */
export const linksOnTheWay = async (path: string): Promise<{ readonly at: string; readonly to: string }[]> => {
  const found: { at: string; to: string }[] = []
  let rest = resolve(path).split('/').slice(1)
  // As the kernel does: more links than this are taken for a circle.
  for (let at = '/', followed = 0; rest.length && followed < 40; ) {
    const next = join(at, rest[0] as string)
    if ((await entryAt(next)) !== 'link') {
      at = next
      rest = rest.slice(1)
      continue
    }
    followed += 1
    const to = resolve(dirname(next), await readlink(next))
    found.push({ at: next, to })
    rest = [...to.split('/').slice(1), ...rest.slice(1)]
    at = '/'
  }
  return found
}
