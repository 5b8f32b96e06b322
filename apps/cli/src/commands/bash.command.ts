import { constants } from 'node:os'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { BashResult } from '#sdk/index.js'
import { UsageError } from '../failure.js'
import { assignment, milliseconds, repeated, standardInput } from '../input.js'
import { command, performs } from '../invocation.js'
import type { Shell } from '../shell.js'

interface BashOptions {
  readonly cwd?: string
  readonly timeout?: string
  readonly env?: readonly string[]
  readonly stdin?: boolean
}

export const registerBash = (program: Command, shell: Shell): void => {
  const made = command(program, 'bash [command]', {
    calls: ['bash.run'],
    summary: "Run one shell command where the daemon's host is",
    about: `Prints what the command printed, once it has ended, and exits as it did: 124 when its time was up, 128 and the
signal's number when a signal ended it. Nothing that it started lives on, and Ctrl-C ends it. With a node's token it runs
in the sandbox of that node.

What stands after -- is a program with its arguments; one word alone is a command for the shell, as before it.`,
    examples: [
      ["svc bash 'ls *.ts | wc -l'", 'a command for the shell, here'],
      ['svc bash --cwd /srv/app --timeout 5m -- make test', 'a program elsewhere, five minutes at most'],
      ["svc bash --stdin 'wc -l' < notes.md", 'hand it standard input'],
    ],
  })
    .option('--cwd <directory>', 'working directory; this one unless given')
    .option('--timeout <time>', 'ms, or with a unit: 30s, 5m; two minutes unless given, ten at most')
    .option('--env <NAME=value>', 'more environment; may be repeated', repeated)
    .option('--stdin', 'send standard input')
  performs<BashOptions>(made, shell, async ({ client, out, json, options }, given) => {
    const body = {
      cwd: resolve(options.cwd ?? process.cwd()),
      command: commandOf(given, shell.trailing),
      ...(options.timeout !== undefined && { timeout: milliseconds(options.timeout) }),
      ...(options.env && { env: Object.fromEntries(options.env.map(assignment)) }),
      ...(options.stdin && { stdin: await standardInput() }),
    }
    const result = await untilInterrupted(async (signal) => (await client()).bash.run(body, { signal }))
    if (!result) {
      process.exitCode = exitCodeOf('SIGINT')
      return
    }
    if (json) out.json(result)
    else {
      out.write(result.stdout)
      out.writeError(result.stderr)
      if (result.timed_out) out.note(`the command was ended: its time was up after ${result.duration_ms} ms`)
    }
    process.exitCode = exitOf(result)
  })
}

/** Undefined when Ctrl-C came first: the daemon ends the command when its caller leaves. */
const untilInterrupted = async <T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> => {
  const leaving = new AbortController()
  const leave = (): void => leaving.abort()
  process.once('SIGINT', leave)
  try {
    return await ask(leaving.signal)
  } catch (error) {
    if (leaving.signal.aborted) return undefined
    throw error
  } finally {
    process.off('SIGINT', leave)
  }
}

const commandOf = (given: string | undefined, trailing: readonly string[]): string => {
  if (given !== undefined && trailing.length > 0) {
    throw new UsageError('there are two commands', 'give it as one argument, or after --')
  }
  const [first, ...others] = given === undefined ? trailing : [given]
  if (!first)
    throw new UsageError('the command is missing', "give it as one argument, or after --: svc bash 'ls | wc -l'")
  return others.length === 0 ? first : trailing.map(quoted).join(' ')
}

/** A word that the shell takes as it is. */
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

const exitCodeOf = (signal: string): number => 128 + (constants.signals[signal as NodeJS.Signals] ?? 0)

/** As a shell tells it, and `timeout` of the end of its time. */
const exitOf = ({ exit_code, signal, timed_out }: BashResult): number => {
  if (timed_out) return 124
  return exit_code ?? exitCodeOf(signal ?? '')
}
