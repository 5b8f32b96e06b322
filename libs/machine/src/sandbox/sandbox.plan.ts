/** A directory that a node sees, by its real path. */
export interface Mount {
  readonly path: string
  readonly mode: 'read' | 'write'
}

/**
 * What the programs of one node may see and touch, as its host decided it; plain data, since the host hands it to the
 * node's broker.
 *
 * All paths are laid over each other by depth, the deepest last, so that a directory inside a hidden one can be a mount;
 * at one and the same path in this order: system, home and temporary, mounts, frozen, hidden.
 */
export interface SandboxPlan {
  /** `bubblewrap`: namespaces of their own. `account`: a system account of the node's own. `none`: as the daemon. */
  readonly level: 'bubblewrap' | 'account' | 'none'
  /** The bubblewrap program, for that level. */
  readonly bwrap?: string
  /** Whether programs can be kept from making user namespaces of their own (`--disable-userns`). */
  readonly nestingRefused?: boolean
  /** Whether bubblewrap takes open files in place of paths (`--bind-fd`, from its version 0.10, and where it was repaired). */
  readonly takesOpenFiles?: boolean
  /** Real paths; the first is the working directory, which alone may be missing. */
  readonly mounts: readonly Mount[]
  /** Files and directories inside the mounts that stay as they are: what git would run for the person. */
  readonly frozen: readonly string[]
  /** Files and directories that exist and are not to be seen, even where a mount would show them: the data directory. */
  readonly hidden: readonly string[]
  /** What of the machine every program sees, read-only; links are made as links, what doesn't exist is left out. */
  readonly system: readonly string[]
  /** The node's own directories on the disk; by bubblewrap its programs see them as `homeAt` and `/tmp`. */
  readonly home: string
  readonly homeAt: string
  readonly temporary: string
  /** For the level `account`. */
  readonly account?: { readonly uid: number; readonly gid: number }
  /** Variables of every program: where programs are, who commits, the language. Nothing secret. */
  readonly env: Readonly<Record<string, string>>
  /** Bounds of a node's broker with all that it starts, where the system lets this account set any. */
  readonly limits: { readonly processes: number; readonly memoryBytes: number }
}
