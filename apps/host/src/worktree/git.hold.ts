import { type ChildProcess, execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { SvcError } from '#common/kernel/errors.js'
import { HeldSources } from '#machine/sandbox/held.sources.js'
import type { SandboxLevel } from '../sandbox/sandbox.level.js'

const run = promisify(execFile)

/** Directories that a program of the host's writes. */
export interface Writes {
  /** The common git directory, by its real path: nodes write there too. */
  readonly gitDir: string
  /** Directories of the host's own. */
  readonly own?: readonly string[]
  /**
   * Nothing else of the machine is seen, but its programs: what the program reads reaches a node, and by links and
   * `objects/info/alternates` a git directory leads into any other.
   */
  readonly alone?: boolean
}

type Argv = readonly [string, ...string[]]

/** A command line as it is to be started. */
export interface Held {
  /** Starts it; what was opened for it is closed again. */
  spawned(start: (argv: Argv, channels: readonly number[]) => ChildProcess): ChildProcess
}

/** Everything as it is, and nothing of it to be written. No namespace for accounts: root keeps what root may. */
const frozen = ['--die-with-parent', '--ro-bind', '/', '/', '--dev', '/dev'] as const
const programs = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/opt',
  '/nix',
  '/gnu',
  '/snap',
]
const bare = [
  '--die-with-parent',
  ...programs.flatMap((path) => ['--ro-bind-try', path, path]),
  '--dev',
  '/dev',
] as const
/** The first open file after the three of the program. */
const firstSource = 3
const patience = 10_000

/**
 * Lets a program of the host's write where it is meant to and nowhere else. A link that a node puts into the git directory
 * in the moment between a look and a write leads git to a place that is read-only.
 */
export class GitHold {
  #works: Promise<boolean> | undefined
  #finds: Promise<boolean> | undefined

  constructor(private readonly level: Pick<SandboxLevel, 'bwrap' | 'takesOpenFiles'>) {}

  /** Without bubblewrap, and for what writes nothing, the command line as it is. @throws SvcError worktree_refused */
  async around(argv: Argv, writes: Writes | undefined): Promise<Held> {
    const { bwrap, takesOpenFiles } = this.level
    if (!writes || bwrap === undefined || !(await this.#canHold(bwrap))) return { spawned: (start) => start(argv, []) }
    const view = writes.alone && (await this.#findsGit(bwrap)) ? bare : frozen
    return {
      spawned: (start) => {
        const sources = new HeldSources(takesOpenFiles === true, firstSource)
        try {
          const binds = [bindOf(sources, writes.gitDir), ...(writes.own ?? []).map((path) => ['--bind', path, path])]
          return start([bwrap, ...view, ...binds.flat(), '--chdir', '/', '--', ...argv], sources.channels)
        } finally {
          sources.close()
        }
      },
    }
  }

  /** Tried once: git may be installed elsewhere. */
  #findsGit(bwrap: string): Promise<boolean> {
    this.#finds ??= succeeds(bwrap, [...bare, '--', 'git', '--version'])
    return this.#finds
  }

  /** Tried once: a root without its privileges, as in a container, has namespaces only with one for accounts. */
  #canHold(bwrap: string): Promise<boolean> {
    this.#works ??= succeeds(bwrap, [...frozen, '--', 'true'])
    return this.#works
  }
}

const succeeds = (program: string, args: readonly string[]): Promise<boolean> =>
  run(program, [...args], { cwd: '/', timeout: patience }).then(
    () => true,
    () => false,
  )

const bindOf = (sources: HeldSources, path: string): string[] => {
  try {
    const channel = sources.hold(path)
    return channel === undefined ? ['--bind', path, path] : ['--bind-fd', String(channel), path]
  } catch (cause) {
    const { message } = cause as Error
    throw new SvcError('worktree_refused', message, { reason: 'not_permitted' }, { cause })
  }
}
