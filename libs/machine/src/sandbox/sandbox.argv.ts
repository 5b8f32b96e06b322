import { lstatSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Mount, SandboxPlan } from './sandbox.plan.js'

/** What stands at a path: nothing, a directory, something that is none, or a link and where it leads. */
export type Look = (path: string) => 'nothing' | 'directory' | 'other' | { readonly target: string }

export const lookAt: Look = (path) => {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat) return 'nothing'
  if (stat.isSymbolicLink()) return { target: readlinkSync(path) }
  return stat.isDirectory() ? 'directory' : 'other'
}

/** Namespaces of its own; no privilege, no terminal, and no life beyond that of the process which started it. */
const isolation = [
  '--unshare-user',
  '--unshare-pid',
  '--unshare-ipc',
  '--unshare-uts',
  '--unshare-cgroup-try',
  '--die-with-parent',
  '--new-session',
  '--cap-drop',
  'ALL',
] as const

const within = (path: string, directory: string): boolean => path === directory || path.startsWith(`${directory}/`)

/**
 * The options of bubblewrap for a plan of that level. Mounts lie over each other in this order: the system, the node's
 * own directories, what the node may see, what is not to be seen, once more what the node may see inside of that (a
 * worktree lies in the data directory), and what of all this stays as it is.
 */
export const sandboxArgv = (plan: SandboxPlan, cwd: string, look: Look = lookAt): string[] => {
  const inHidden = plan.mounts.filter(({ path }) => plan.hidden.some((hidden) => within(path, hidden)))
  const hiddenAgain = plan.hidden.filter((path) => inHidden.some((mount) => within(path, mount.path)))
  return [
    ...isolation,
    ...(plan.disableUserns ? ['--disable-userns'] : []),
    ...plan.system.flatMap((path) => systemPath(path, look)),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--bind', plan.temporary, '/tmp', '--bind', plan.home, plan.homeAt],
    ...plan.mounts.flatMap(bound),
    ...plan.hidden.flatMap((path) => covered(path, look)),
    ...inHidden.flatMap(bound),
    ...hiddenAgain.flatMap((path) => covered(path, look)),
    ...pinned(plan),
    ...plan.frozen.flatMap((path) => frozen(path, look)),
    ...['--chdir', cwd],
  ]
}

const bound = ({ path, mode }: Mount): string[] => [mode === 'write' ? '--bind' : '--ro-bind', path, path]

const systemPath = (path: string, look: Look): string[] => {
  const found = look(path)
  if (found === 'nothing') return []
  return typeof found === 'object' ? ['--symlink', found.target, path] : ['--ro-bind', path, path]
}

/**
 * The directories between a mount and what is frozen in it, bound onto themselves: what is mounted on can't be renamed,
 * so nobody moves the frozen out of the way to put something else in its place.
 */
const pinned = ({ mounts, frozen }: SandboxPlan): string[] => {
  const pins = new Set<string>()
  for (const path of frozen) {
    const mount = mounts.findLast((one) => one.mode === 'write' && within(path, one.path))
    if (!mount) continue
    const above: string[] = []
    for (let at = dirname(path); at !== mount.path && within(at, mount.path); at = dirname(at)) above.unshift(at)
    for (const directory of above) pins.add(directory)
  }
  return [...pins].flatMap((path) => ['--bind', path, path])
}

const frozen = (path: string, look: Look): string[] => (look(path) === 'nothing' ? [] : ['--ro-bind', path, path])

const covered = (path: string, look: Look): string[] => {
  const found = look(path)
  if (found === 'nothing') return []
  return found === 'directory' ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path]
}
