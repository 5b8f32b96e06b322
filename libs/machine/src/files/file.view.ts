import type { SandboxPlan } from '../sandbox/sandbox.plan.js'

/** A directory that may be reached. */
export interface FileRoot {
  /** The path that callers know it by. */
  readonly at: string
  /** Where it lies on the disk; a part of it that has become a link is not followed. */
  readonly real: string
  readonly mode: 'read' | 'write'
}

/** What somebody sees of the machine's files; plain data. */
export interface FileView {
  /** What relative paths count from. */
  readonly cwd: string
  /** They lie over each other by depth, the deepest last; of two at the same path the later one counts. */
  readonly roots: readonly FileRoot[]
  /** Paths outside of the roots that are followed where they are links: a name may lead to a root by way of them. */
  readonly links?: readonly string[]
  /** Real paths that are not written, nor what lies in them. */
  readonly frozen: readonly string[]
  /** Real paths that are not to be reached, nor what lies in them, unless by a root that lies deeper. */
  readonly hidden: readonly string[]
  /** Whom new files belong to, where this process may decide it. */
  readonly owner?: { readonly uid: number; readonly gid: number }
}

/** All files of the machine, as the daemon's own account may touch them: the owner's view. */
export const machineView: FileView = {
  cwd: '/',
  roots: [{ at: '/', real: '/', mode: 'write' }],
  frozen: [],
  hidden: [],
}

/** What the programs of a plan see, so that file tools and shell agree about what a path means. */
export const viewOfPlan = (
  plan: SandboxPlan,
  { cwd = plan.mounts[0]?.path ?? '/', readable = [] }: ViewOptions = {},
): FileView => {
  const sees = plan.level === 'bubblewrap'
  return {
    cwd,
    roots: [
      { at: sees ? '/tmp' : plan.temporary, real: plan.temporary, mode: 'write' },
      { at: sees ? plan.homeAt : plan.home, real: plan.home, mode: 'write' },
      ...readable.map((path): FileRoot => ({ at: path, real: path, mode: 'read' })),
      ...plan.mounts.map(({ path, mode }): FileRoot => ({ at: path, real: path, mode })),
    ],
    links: plan.system,
    frozen: plan.frozen,
    hidden: plan.hidden,
    ...(plan.account && { owner: plan.account }),
  }
}

interface ViewOptions {
  /** What relative paths count from; may lead to the plan's own by links. */
  readonly cwd?: string
  /** Directories that may be read besides: the whole of long outputs. */
  readonly readable?: readonly string[]
}
