import { type ChildProcess, spawn } from 'node:child_process'
import { HeldSources } from '../sandbox/held.sources.js'
import { lookAt } from '../sandbox/path.look.js'
import { sandboxArgv } from '../sandbox/sandbox.argv.js'
import type { SandboxPlan } from '../sandbox/sandbox.plan.js'
import type { Command, RunningCommand } from './command.js'
import { PlainCommand, RefusedCommand } from './plain.command.js'
import { bounded } from './program.bounds.js'
import { SandboxedCommand } from './sandboxed.command.js'

/** Starts a program; what speaks against it is told by its end. */
export const startCommand = (command: Command): RunningCommand => {
  try {
    const { plan } = command
    return plan?.level === 'bubblewrap' ? sandboxed(command, plan) : new PlainCommand(command, plain(command))
  } catch (error) {
    // A command line that is too long and the like: thrown instead of told later.
    return new RefusedCommand(error as NodeJS.ErrnoException)
  }
}

const stdioOf = (input: boolean): ('pipe' | 'ignore')[] => [input ? 'pipe' : 'ignore', 'pipe', 'pipe']

const plain = ({ argv, cwd, env, plan, mark, input }: Command): ChildProcess => {
  // Without it the program would run as this process does.
  if (plan?.level === 'account' && !plan.account) throw refusal('the node was given no account', 'sandbox')
  const [program, ...args] = plan ? bounded(argv, plan) : argv
  return spawn(program, args, {
    cwd,
    env: { ...(plan && { HOME: plan.home, TMPDIR: plan.temporary, ...plan.env }), ...env, [mark.name]: mark.value },
    detached: true,
    stdio: stdioOf(input),
    ...(plan?.level === 'account' && plan.account),
  })
}

const refusal = (message: string, syscall: 'spawn' | 'sandbox'): NodeJS.ErrnoException =>
  Object.assign(new Error(message), { code: 'EINVAL', syscall })

/** Bubblewrap's status and its options come before what is opened for it. */
const firstSource = 5

/** Variables by which the processes of a data directory and of a node are found again. */
const isMark = (name: string): boolean => /^SVC_[A-Z]+_MARK$/.test(name)

/**
 * Bubblewrap runs outside of the sandbox that it makes, so it is given none of the program's environment, which could
 * load code into it; and what it is given stands in no command line, where anybody could read a token.
 */
const sandboxed = (command: Command, plan: SandboxPlan): SandboxedCommand => {
  const { argv, cwd, mark, input } = command
  if (!argv[0]) throw refusal('its name is empty', 'spawn')
  const env: Record<string, string> = {
    HOME: plan.homeAt,
    TMPDIR: '/tmp',
    ...plan.env,
    ...command.env,
    [mark.name]: mark.value,
  }
  const marks = Object.fromEntries(Object.entries(env).filter(([name]) => isMark(name)))
  const variables = Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value])
  const sources = new HeldSources(plan.takesOpenFiles === true, firstSource)
  try {
    const options = [...sandboxArgv(plan, cwd, lookAt, sources.hold), ...variables]
    if (options.some((option) => option.includes('\0')))
      throw refusal('there is a zero byte in what it is given', 'spawn')
    const child = spawn(plan.bwrap!, ['--json-status-fd', '3', '--args', '4', '--', ...bounded(argv, plan)], {
      cwd: '/',
      env: marks,
      detached: true,
      stdio: [...stdioOf(input), 'pipe', 'pipe', ...sources.channels],
    })
    return new SandboxedCommand(command, child, options)
  } finally {
    sources.close()
  }
}
