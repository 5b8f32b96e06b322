import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { ReceiverInput } from '#sdk/index.js'
import { UsageError } from '../failure.js'
import { assignment, repeated, wholeNumber } from '../input.js'

export interface ReceiverFlags {
  readonly queue?: boolean
  readonly url?: string
  readonly allowPrivate?: boolean
  readonly cwd?: string
  readonly env?: readonly string[]
  readonly maxPending?: number
}

/** @param pending how many deliveries may wait where the line says nothing of it */
export const addReceiverFlags = (made: Command, pending: string): Command =>
  made
    .option('--queue', 'what it watches waits for a consumer: svc custom-object receive')
    .option('--url <url>', 'what it watches is sent there, as a signed webhook')
    .option('--allow-private', '--url: also at an address of this machine or of a private network')
    .option('--cwd <directory>', 'a program after --: working directory; this one unless given')
    .option('--env <NAME=value>', 'a program after --: more environment; may be repeated', repeated)
    .option('--max-pending <number>', `deliveries that may wait unacknowledged; ${pending} unless given`, wholeNumber)

/** Words of the line that each name a kind of receiver, for an error. */
const kindsOf = ({ queue, url }: ReceiverFlags, argv: readonly string[]): string[] => [
  ...(queue ? ['--queue'] : []),
  ...(url === undefined ? [] : ['--url']),
  ...(argv.length ? ['a program after --'] : []),
]

/**
 * The receiver that a command line names; undefined where it names none.
 *
 * @param argv what stands after `--`
 * @param here what directories are relative to
 * @throws UsageError
 */
export const receiverOf = (flags: ReceiverFlags, argv: readonly string[], here: string): ReceiverInput | undefined => {
  const kinds = kindsOf(flags, argv)
  if (kinds.length > 1) {
    throw new UsageError(
      `an object has one receiver, and here are ${kinds.join(', ')}`,
      'register another object for the other one',
    )
  }
  refuseStrays(flags, kinds[0])
  const { url, allowPrivate, cwd, env } = flags
  const limit = limitOf(flags)
  switch (kinds[0]) {
    case undefined:
      return undefined
    case '--queue':
      return { type: 'queue', ...limit }
    case '--url':
      return { type: 'url', url: url as string, ...(allowPrivate && { allow_private: true }), ...limit }
    default:
      return {
        type: 'argv',
        argv: [...argv],
        cwd: resolve(here, cwd ?? '.'),
        ...(env && { env: Object.fromEntries(env.map(assignment)) }),
        ...limit,
      }
  }
}

const limitOf = ({ maxPending }: ReceiverFlags): { max_pending?: number } =>
  maxPending === undefined ? {} : { max_pending: maxPending }

/** What says more about a receiver goes with that receiver. @throws UsageError */
const refuseStrays = (flags: ReceiverFlags, kind: string | undefined): void => {
  const strays = [
    ['--allow-private', flags.allowPrivate, '--url'],
    ['--cwd', flags.cwd, 'a program after --'],
    ['--env', flags.env, 'a program after --'],
  ] as const
  for (const [option, value, of] of strays) {
    if (value !== undefined && kind !== of) throw new UsageError(`${option} says nothing here`, `it goes with ${of}`)
  }
}
