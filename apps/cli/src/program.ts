import { Command, CommanderError } from 'commander'
import { report } from './failure.js'
import { groups } from './groups.js'
import { openShell, type Shell } from './shell.js'
import { cliVersion } from './version.js'

/** Runs one command line; answers the exit code. */
export const run = async (argv: readonly string[]): Promise<number> => {
  const cut = argv.indexOf('--')
  const own = cut < 0 ? argv : argv.slice(0, cut)
  const shell = openShell(cut < 0 ? [] : argv.slice(cut + 1))
  try {
    const program = await buildProgram(shell, (name) => own.includes(name))
    await program.parseAsync([...own], { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    return report(error, shell, own.includes('--json'))
  }
}

/** The tree of commands; only the groups that `wanted` names are loaded, the others are there by name. */
const buildProgram = async (shell: Shell, wanted: (name: string) => boolean): Promise<Command> => {
  const program = new Command('svc')
    .description('Hosts agent runs on this machine. `svc sys up` starts the daemon, `svc node new` a first node.')
    .version(cliVersion, '-V, --version', 'print the version of this command')
    .option('--base-url <url>', 'address of the daemon (SVC_BASE_URL)')
    .option('--token <token>', 'bearer token (SVC_TOKEN)')
    .enablePositionalOptions()
    .showHelpAfterError('(svc --help lists the commands)')
    .configureHelp({ showGlobalOptions: false })
    .exitOverride()
  program.addHelpText('after', `\nExamples:\n${examplesFor(shell)}\n\n${exitCodeText}`)
  for (const group of groups) {
    if (wanted(group.name)) (await group.load())(program, shell, () => buildProgram(shell, () => true))
    else program.command(group.name, { hidden: !group.shown(shell) }).description(group.summary)
  }
  inherit(program)
  return program
}

const exitCodeText =
  'Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 network or not available, 6 denied.'

const examplesFor = ({ nodeId }: Shell): string =>
  nodeId === undefined
    ? `  svc sys up                                     start the daemon of this machine
  svc node new --engine exec -- ls -la           run a program as a node, without any model
  svc node new "count the files here" --wait     hand an agent some work and wait for its outcome`
    : `  svc node new "check the tests" --wait          hand a child some work and wait for its outcome
  svc push "half of the files are done"          tell those who watch this node`

/** Subcommands throw like the program does, instead of ending the process. */
const inherit = (parent: Command): void => {
  for (const child of parent.commands) {
    child.exitOverride().showHelpAfterError(`(${pathOf(child)} --help says more)`)
    inherit(child)
  }
}

const pathOf = (one: Command): string => (one.parent ? `${pathOf(one.parent)} ${one.name()}` : one.name())
