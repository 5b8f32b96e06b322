import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import type { SandboxPlan } from '../sandbox/sandbox.plan.js'

/** By util-linux; it becomes the program that it is given, which costs 1 ms. Undefined where it is not installed. */
export const prlimit = ['/usr/bin/prlimit', '/bin/prlimit'].find((path) => existsSync(path))

/** No program of a node leaves its memory in a file when it crashes: the node's token stands in it. */
export const withoutCores = '--core=0:0'

type Argv = readonly [string, ...string[]]

const shells = ['bash', 'sh']

const sees = ({ level, system }: SandboxPlan, path: string): boolean =>
  level !== 'bubblewrap' || system.some((place) => path.startsWith(`${place}/`))

/**
 * The kernel counts processes by account and user namespace. Set inside of a sandbox, whose namespace is its own, or for a
 * node's own account, the bound is that of one command or node; anywhere else all that the person runs would count.
 * To root itself it does not apply.
 */
const boundsOf = ({ level, limits }: SandboxPlan): string[] => [
  withoutCores,
  ...(level === 'none' ? [] : [`--nproc=${limits.processes}:${limits.processes}`]),
]

/**
 * A shell's command line with bounds that it can't lift. Other programs are left as they are: that one of them is missing
 * is told by whoever starts it, and a broker hands its own bounds on to them.
 */
export const bounded = (argv: Argv, plan: SandboxPlan): Argv => {
  if (prlimit === undefined || !shells.includes(basename(argv[0])) || !sees(plan, prlimit)) return argv
  return [prlimit, ...boundsOf(plan), '--', ...argv]
}
