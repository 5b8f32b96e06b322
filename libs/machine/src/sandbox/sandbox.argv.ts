import { dirname } from 'node:path'
import { type Look, lookAt } from './path.look.js'
import type { SandboxPlan } from './sandbox.plan.js'

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

/**
 * What of /proc changes the machine. These files ask for no privilege, only for root's number, which programs of a daemon
 * of root have; and what bubblewrap itself covers there it leaves open to exactly that number.
 */
const kernelSettings = 'acpi asound bus driver dynamic_debug fs irq mtrr scsi sys sysrq-trigger'.split(' ')

const readOnly = (name: string): string[] => ['--ro-bind-try', `/proc/${name}`, `/proc/${name}`]

/** Answers an open file's number for a path, or nothing where the path itself must do; throws to refuse it. */
export type Hold = (path: string) => number | undefined

/** Something that stands at a path of the sandbox, and the options that put it there. */
interface Layer {
  readonly path: string
  readonly options: readonly string[]
}

const within = (path: string, directory: string): boolean =>
  directory === '/' || path === directory || path.startsWith(`${directory}/`)

const depthOf = (path: string): number => (path === '/' ? 0 : path.split('/').length - 1)

/**
 * The options of bubblewrap for a plan of that level. What lies deeper is laid over what lies above it, so that a worktree
 * is seen inside of the hidden data directory, and a hidden directory is not seen inside of a mount.
 *
 * @param hold is asked for each place where programs may write: by which open file it goes to bubblewrap
 */
export const sandboxArgv = (
  plan: SandboxPlan,
  cwd: string,
  look: Look = lookAt,
  hold: Hold = () => undefined,
): string[] => {
  const held = (write: boolean, path: string): Layer => {
    const channel = hold(path)
    const option = write ? '--bind' : '--ro-bind'
    return channel === undefined ? bound(option, path) : { path, options: [`${option}-fd`, String(channel), path] }
  }
  const showsOf = seenOf(plan)
  // What lies in the node's own directories is not what the mounts have there.
  const frozen = plan.frozen.filter((path) => showsOf(path) !== 'own' && look(path) !== 'nothing')
  const hidden = plan.hidden.filter((path) => showsOf(path) !== 'own')
  const changeable = [...frozen, ...hidden].filter((path) => showsOf(path) === 'written')
  const layers: Layer[] = [
    ...plan.system.flatMap((path) => systemLayer(path, look, [plan.homeAt, '/tmp'])),
    { path: '/proc', options: ['--proc', '/proc', ...kernelSettings.flatMap(readOnly)] },
    { path: '/dev', options: ['--dev', '/dev'] },
    bound('--bind', plan.temporary, '/tmp'),
    bound('--bind', plan.home, plan.homeAt),
    ...plan.mounts.map(({ path, mode }) => held(mode === 'write', path)),
    ...pinned(plan, changeable).map((path) => held(true, path)),
    ...frozen.map((path) => held(false, path)),
    ...hidden.flatMap((path) => hiddenLayer(path, look)),
  ]
  const sorted = layers.toSorted((one, other) => depthOf(one.path) - depthOf(other.path))
  return [
    ...isolation,
    ...(plan.nestingRefused ? ['--disable-userns'] : []),
    ...sorted.flatMap(({ options }) => options),
    ...['--chdir', cwd],
  ]
}

/** What a path shows before anything is frozen or hidden: the deepest layer that it lies in, of equals the last. */
const seenOf = ({ system, mounts, homeAt }: SandboxPlan) => {
  const layers = [
    ...system.map((path) => ({ path, shows: 'read' })),
    ...['/tmp', homeAt].map((path) => ({ path, shows: 'own' })),
    ...mounts.map(({ path, mode }) => ({ path, shows: mode === 'write' ? 'written' : 'read' })),
  ].toSorted((one, other) => depthOf(one.path) - depthOf(other.path))
  return (path: string) => layers.findLast((layer) => within(path, layer.path))?.shows
}

const bound = (option: string, from: string, path = from): Layer => ({ path, options: [option, from, path] })

/** @param kept what stays on the disk from one program to the next: a link made there once stands in its own way later */
const systemLayer = (path: string, look: Look, kept: readonly string[]): Layer[] => {
  const found = look(path)
  if (found === 'nothing') return []
  if (typeof found === 'object' && kept.some((place) => within(path, place))) return [bound('--ro-bind-try', path)]
  return [typeof found === 'object' ? { path, options: ['--symlink', found.target, path] } : bound('--ro-bind', path)]
}

/**
 * The directories between a mount and what is frozen or hidden in it, bound onto themselves: what is mounted on can't be
 * renamed. Else a program moves them out of the way, and the next one sees what was hidden, or writes what was frozen.
 */
const pinned = ({ mounts }: SandboxPlan, held: readonly string[]): string[] => {
  const pins = new Set<string>()
  for (const path of held) {
    const writable = mounts.filter((mount) => mount.mode === 'write' && within(path, mount.path))
    const top = writable.reduce((most, mount) => Math.max(most, depthOf(mount.path)), -1)
    if (top >= 0) for (let at = dirname(path); depthOf(at) > top; at = dirname(at)) pins.add(at)
  }
  return [...pins]
}

const hiddenLayer = (path: string, look: Look): Layer[] => {
  const found = look(path)
  // Where a link leads is hidden by its own path.
  if (found === 'nothing' || typeof found === 'object') return []
  return found === 'directory' ? [{ path, options: ['--tmpfs', path] }] : [bound('--ro-bind', '/dev/null', path)]
}
