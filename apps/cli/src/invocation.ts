import { type Command, Option } from 'commander'
import type { Client } from '#sdk/index.js'
import { type Needs, setNeeds } from './access/needs.js'
import { type ConnectionFlags, connect, resolveConnection } from './connection.js'
import type { Output } from './output/output.js'
import type { Shell } from './shell.js'

/** On a command line it is kept in the history of the shell. */
export const tokenText = 'bearer token; better in SVC_TOKEN, or in the file that SVC_TOKEN_FILE names'

/** One call of one command, its options read. */
export interface Invocation<Options> {
  readonly shell: Shell
  readonly out: Output
  readonly json: boolean
  readonly options: Options
  client(): Promise<Client>
  connection(): ReturnType<typeof resolveConnection>
}

const connectionOptions = () => [
  new Option('--base-url <url>', 'address of the daemon (SVC_BASE_URL)'),
  new Option('--token <token>', tokenText),
]

/** Each says what it takes of its caller, so that it is shown to those alone who can use it. */
export type CommandText = Text & Needs & (Required<Pick<Needs, 'calls'>> | Required<Pick<Needs, 'gate'>>)

interface Text {
  readonly summary: string
  /** Longer text for the help. */
  readonly about?: string
  /** Whole command lines, each with what it does. */
  readonly examples?: readonly (readonly [line: string, what: string])[]
}

/** A command with its help, and the options that every command has. */
export const command = (parent: Command, usage: string, text: CommandText): Command => {
  const { summary, about, examples = [] } = text
  const made = parent
    .command(usage)
    .summary(summary)
    .description(about ? `${summary}.\n\n${flowing(about)}` : `${summary}.`)
  setNeeds(made, text)
  made.option('--json', 'the raw answer as JSON; one record a line for streams')
  if (examples.length) {
    const width = Math.max(...examples.map(([line]) => line.length))
    const lines = examples.map(([line, what]) => `  ${line.padEnd(width)}  ${what}`)
    made.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
  }
  return made
}

/** Paragraphs without their line ends: the help wraps them itself. */
const flowing = (text: string): string => text.replace(/(?<!\n)\n(?!\n)/g, ' ')

/** Gives the command its work. An option of the command's own by the name of a connection's stays the command's. */
export const performs = <Options extends object>(
  made: Command,
  shell: Shell,
  work: (call: Invocation<Options>, ...args: string[]) => Promise<void>,
): Command => {
  const own = made.options.map(({ long }) => long)
  const added = connectionOptions().filter(({ long }) => !own.includes(long))
  for (const option of added) made.addOption(option)
  return made.action(async (...given: unknown[]) => {
    const options = made.opts<Options & { json?: boolean }>()
    const flags = connectionFlags(made, added)
    await work(
      {
        shell,
        out: shell.out,
        json: options.json === true,
        options,
        client: () => connect(shell, flags),
        connection: () => resolveConnection(shell, flags),
      },
      ...(given.slice(0, -2) as string[]),
    )
  })
}

/** Those of `svc` itself, overruled by those behind the command. */
const connectionFlags = (made: Command, added: readonly Option[]): ConnectionFlags => {
  let top = made
  while (top.parent) top = top.parent
  const behind = added.map((option) => [option.attributeName(), made.getOptionValue(option.attributeName())])
  return { ...top.opts<ConnectionFlags>(), ...Object.fromEntries(behind.filter(([, value]) => value !== undefined)) }
}
