import { Command, CommanderError, Help, type HelpConfiguration, type OutputConfiguration } from 'commander'
import { pathOf, refusal } from './access/needs.js'
import { askedRights, localRights, type Rights } from './access/rights.js'
import type { ConnectionFlags } from './connection.js'
import { report } from './failure.js'
import { groups } from './groups.js'
import { tokenText } from './invocation.js'
import { openShell, type Shell } from './shell.js'
import { cliVersion } from './version.js'

/** One command line, cut at `--`. */
interface Line {
  readonly shell: Shell
  readonly own: readonly string[]
}

/** Runs one command line; answers the exit code. */
export const run = async (argv: readonly string[]): Promise<number> => {
  const cut = argv.indexOf('--')
  const own = cut < 0 ? argv : argv.slice(0, cut)
  const shell = openShell(cut < 0 ? [] : argv.slice(cut + 1))
  try {
    return await perform({ shell, own })
  } catch (error) {
    return report(error, shell, own.includes('--json'))
  }
}

/**
 * What is said of commands (a help, a word that is none) depends on what the caller may do. Only then is that asked and
 * the whole tree loaded: a command that is simply run is the daemon's to refuse.
 */
const perform = async ({ shell, own }: Line): Promise<number> => {
  const said: (() => void)[] = []
  const program = await buildProgram(shell, (name) => own.includes(name))
  const output = {
    writeOut: (text: string) => void said.push(() => process.stdout.write(text)),
    writeErr: (text: string) => void said.push(() => process.stderr.write(text)),
  }
  try {
    hold(program, { rights: localRights(shell, flagsOf(own)), asked: isHelp(own), output })
    await program.parseAsync([...own], { from: 'user' })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.code === 'commander.version') for (const say of said) say()
    else await explain({ shell, own }, program.opts<ConnectionFlags>().baseUrl)
    return error.exitCode === 0 ? 0 : 2
  }
}

/** The same line again, by who may do what: it ends as it did, before any command has begun. */
const explain = async ({ shell, own }: Line, baseUrl: string | undefined): Promise<void> => {
  const rights = await rightsOf(shell, own, baseUrl)
  const program = await buildProgram(shell, () => true)
  program.addHelpText('after', `\nExamples:\n${examplesFor(program, rights)}\n\n${exitCodeText}`)
  hold(program, { rights, asked: isHelp(own), help: showOnly(rights) })
  try {
    await program.parseAsync([...own], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
  }
}

const isHelp = (own: readonly string[]): boolean => own.some((word) => word === '--help' || word === '-h')

/** A token given on the line, wherever it stands; one that says its kind is all that is read of it. */
const flagsOf = (own: readonly string[]): ConnectionFlags => {
  const at = own.findLastIndex((word) => word === '--token' || word.startsWith('--token='))
  const token = own[at]?.startsWith('--token=') ? own[at].slice('--token='.length) : own[at + 1]
  return at >= 0 && token !== undefined ? { token } : {}
}

/** An address behind a command may be something else than the daemon's, and a token isn't shown to what may be another. */
const rightsOf = async (shell: Shell, own: readonly string[], baseUrl: string | undefined): Promise<Rights> => {
  const flags = { ...flagsOf(own), ...(baseUrl !== undefined && { baseUrl }) }
  const elsewhere = baseUrl === undefined && own.some((word) => /^--base-url(=|$)/.test(word))
  return elsewhere ? localRights(shell, flags) : askedRights(shell, flags)
}

/** The tree of commands; only the groups that `wanted` names are loaded, the others are there by name. */
export const buildProgram = async (shell: Shell, wanted: (name: string) => boolean): Promise<Command> => {
  const program = new Command('svc')
    .description('Hosts agent runs on this machine. `svc sys up` starts the daemon, `svc node new` a first node.')
    .version(cliVersion, '-V, --version', 'print the version of this command')
    .option('--base-url <url>', 'address of the daemon (SVC_BASE_URL)')
    .option('--token <token>', tokenText)
    .enablePositionalOptions()
    .showHelpAfterError('(svc --help lists the commands)')
    .configureHelp({ showGlobalOptions: false })
    .exitOverride()
  for (const group of groups) {
    if (wanted(group.name)) (await group.load())(program, shell, () => buildProgram(shell, () => true))
    else program.command(group.name)
    program.commands.at(-1)?.summary(group.summary)
  }
  return program
}

const exitCodeText =
  'Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 conflict, 5 network or not available, 6 denied.'

const examples = [
  ['sys up', 'svc sys up', 'start the daemon of this machine'],
  ['node new', 'svc node new --engine exec -- ls -la', 'run a program as a node, without any model'],
  ['node new', 'svc node new "count the files here" --wait', 'hand an agent some work and wait for its outcome'],
  ['node list', 'svc node list', 'what there is'],
  ['push', 'svc push "half of the files are done"', 'tell those who watch this node'],
] as const

const examplesFor = (program: Command, rights: Rights): string =>
  examples
    .filter(([path]) => {
      const found = path.split(' ').reduce<Command | undefined>(childOf, program)
      return found !== undefined && refusal(found, rights) === undefined
    })
    .map(([, line, what]) => `  ${line.padEnd(45)}  ${what}`)
    .join('\n')

const childOf = (parent: Command | undefined, name: string): Command | undefined =>
  parent?.commands.find((child) => child.name() === name)

interface Holding {
  readonly rights: Rights
  /** Whether the line asks for help alone, which an owner may read of everything. */
  readonly asked: boolean
  readonly help?: HelpConfiguration
  readonly output?: OutputConfiguration
}

/** Help that lists what the caller can use, and is refused for what it can't. */
const showOnly = (rights: Rights): HelpConfiguration => {
  const usual = new Help()
  return {
    visibleCommands: (made) => usual.visibleCommands(made).filter((child) => refusal(child, rights) === undefined),
    subcommandTerm: (made) => (made.parent && !made.parent.parent ? made.name() : usual.subcommandTerm(made)),
    formatHelp: (made, helper) => {
      const refused = refusal(made, rights)
      if (refused && rights.kind !== 'owner') throw refused
      return usual.formatHelp(made, helper)
    },
  }
}

/**
 * Subcommands throw like the program does, instead of ending the process, and one that is not for the caller is refused
 * before its line is read any further.
 */
const hold = (parent: Command, holding: Holding): void => {
  const { rights, asked, help, output } = holding
  if (help) parent.configureHelp({ ...parent.configureHelp(), ...help })
  if (output) parent.configureOutput(output)
  parent.hook('preSubcommand', (_, sub) => {
    const refused = refusal(sub, rights)
    if (refused && !(asked && rights.kind === 'owner')) throw refused
  })
  for (const child of parent.commands) {
    child.exitOverride().showHelpAfterError(`(${pathOf(child)} --help says more)`)
    hold(child, holding)
  }
}
