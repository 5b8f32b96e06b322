import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { SvcError } from '#common/kernel/errors.js'
import type { SandboxPlan } from '#machine/sandbox/sandbox.plan.js'
import { realPath, within } from '../sandbox/real.paths.js'

const missing = (path: string): SvcError => new SvcError('not_found', `There is no directory ${path}.`, { path })

const outside = (path: string): SvcError =>
  new SvcError('path_outside_scope', `${path} lies outside of what the node sees.`, { path })

/**
 * Whether a command can run there.
 *
 * @param shown how the caller named it
 * @throws SvcError `not_found`, `validation_failed` for what is no directory, `file_access_denied`.
 */
const requireDirectory = async (path: string, shown: string): Promise<void> => {
  try {
    if (!(await stat(path)).isDirectory()) throw refuse(`${shown} is no directory`)
    await access(path, constants.X_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG' || code === 'ELOOP') throw missing(shown)
    if (code === 'EACCES' || code === 'EPERM') throw new SvcError('file_access_denied', undefined, { path: shown })
    throw error
  }
}

const refuse = (message: string): SvcError =>
  new SvcError('validation_failed', message, { errors: [{ pointer: '/cwd', message }] })

/** For a command of the owner's. Errors as above. */
export const ownerDirectory = async (cwd: string): Promise<string> => {
  await requireDirectory(cwd, cwd)
  return cwd
}

/** Length of the deepest of these places that the path lies in; 0 for none. */
const depthIn = (path: string, places: readonly string[]): number =>
  Math.max(0, ...places.filter((place) => within(path, place)).map((place) => place.length))

/** Whether a mount shows it: what is hidden may hold a mount, as the data directory does a worktree. */
const isShown = ({ mounts, hidden }: SandboxPlan, path: string): boolean =>
  depthIn(
    path,
    mounts.map((mount) => mount.path),
  ) > depthIn(path, hidden)

/** Where a path of the node's own directories lies on the disk; undefined for any other. */
const ownPlace = (plan: SandboxPlan, path: string): string | undefined => {
  const views = plan.level === 'bubblewrap' ? [plan.homeAt, '/tmp'] : [plan.home, plan.temporary]
  const places = [plan.home, plan.temporary]
  const at = views.findIndex((view) => within(path, view))
  return at < 0 ? undefined : join(places[at] as string, relative(views[at] as string, path))
}

/** Where the deepest part of a path that exists really lies: what lies outside is refused alike, be it there or not. */
const nearestPlace = async (path: string): Promise<string> => {
  for (let at = path; ; at = resolve(at, '..')) {
    const real = await realPath(at)
    if (real !== undefined || at === '/') return real ?? '/'
  }
}

/**
 * The directory of a node's command, by the name that it has in the node's view. What is decided here is what the caller
 * is told; what holds the command is the sandbox, which is entered by that name.
 *
 * @throws SvcError `path_outside_scope`; else as above.
 */
export const nodeDirectory = async (plan: SandboxPlan, cwd: string): Promise<string> => {
  const named = resolve(cwd)
  const sees = (path: string): boolean => isShown(plan, path)
  const real = await nearestPlace(named)
  if (sees(real)) {
    await requireDirectory(named, named)
    return real
  }
  const own = ownPlace(plan, named)
  if (own === undefined) throw outside(named)
  const [ownReal, roots] = [await nearestPlace(own), [plan.home, plan.temporary]]
  if (sees(ownReal)) return nodeDirectory(plan, ownReal)
  const realRoots = await Promise.all(roots.map(nearestPlace))
  if (!realRoots.some((root) => within(ownReal, root))) throw outside(named)
  await requireDirectory(own, named)
  return named
}
