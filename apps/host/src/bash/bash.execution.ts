import type { OutputOf } from '#common/contract/define.js'
import type { contract } from '#common/contract/index.js'
import type { Clock } from '#common/kernel/clock.js'
import { abortedBy, SvcError } from '#common/kernel/errors.js'
import type { Command, CommandEnd, RunningCommand } from '#machine/process/command.js'
import { startCommand } from '#machine/process/start.command.js'
import { BashOutput } from './bash.output.js'
import { mayRemain } from './bash.remains.js'

export type Answer = OutputOf<(typeof contract)['bash.run']>

/** How a command went: by its own end, never begun, or broken off before its end. */
export type Execution =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'refused'; readonly error: unknown }
  | { readonly kind: 'cut_off'; readonly error: SvcError }

/** After a time-out or when its caller left, a command has this long to tidy up (ms). */
const graceMs = 250

export interface ExecutionOrder {
  readonly argv: Command['argv']
  /** Ms that it may take. */
  readonly timeout: number
  readonly stdin?: string
  readonly place: Pick<Command, 'cwd' | 'env' | 'plan' | 'mark'>
  readonly signal: AbortSignal
  /** Bytes that are kept of each output. */
  readonly outputBytes: number
  /** Bytes that an answer may have as JSON. */
  readonly largest: number
  readonly clock: Clock
}

/**
 * Runs a command to its end, its time-out or the signal. However it ends, nothing that it started lives on.
 */
export const execute = async (order: ExecutionOrder): Promise<Execution> => {
  const { argv, timeout, stdin, place, signal, outputBytes, largest, clock } = order
  if (signal.aborted) return { kind: 'refused', error: abortedBy(signal) }
  const [stdout, stderr] = [new BashOutput(outputBytes), new BashOutput(outputBytes)]
  const begun = clock.monotonic()
  const running = startCommand({
    ...place,
    argv,
    input: stdin !== undefined,
    onStdout: (chunk) => stdout.add(chunk),
    onStderr: (chunk) => stderr.add(chunk),
  })
  if (stdin !== undefined) running.write(stdin)
  running.closeInput()
  const how = await firstOf(running, timeout, signal, clock)
  const lived = clock.monotonic() - begun
  await endAll(running, how, { place, lived })
  const end = await running.ended
  if (end.refusal) return { kind: 'refused', error: refusalOf(end.refusal) }
  if (how === 'left') return { kind: 'cut_off', error: abortedBy(signal) }
  const facts = { stdout, stderr, duration_ms: Math.round(lived), timed_out: how === 'timed_out', largest }
  return { kind: 'answer', answer: answerOf(end, facts) }
}

type How = 'ended' | 'timed_out' | 'left'

/** What comes first: the command's end, its time's, or its caller's leaving. */
const firstOf = (running: RunningCommand, timeout: number, signal: AbortSignal, clock: Clock): Promise<How> =>
  new Promise((resolve, reject) => {
    const finish = (how: How): void => {
      callOff()
      signal.removeEventListener('abort', onAbort)
      resolve(how)
    }
    const onAbort = (): void => finish('left')
    const callOff = clock.after(timeout, () => finish('timed_out'))
    signal.addEventListener('abort', onAbort, { once: true })
    running.ended.then(() => finish('ended'), reject)
  })

/** Ends the command, or what one that has ended left behind. */
const endAll = async (
  running: RunningCommand,
  how: How,
  { place, lived }: { readonly place: ExecutionOrder['place']; readonly lived: number },
): Promise<void> => {
  if (how !== 'ended') return running.kill(graceMs)
  const certain =
    running.pid === undefined || (place.plan?.level !== 'bubblewrap' && !mayRemain(running.pid, place.mark, lived))
  if (!certain) await running.kill(0)
}

interface Facts {
  readonly stdout: BashOutput
  readonly stderr: BashOutput
  readonly duration_ms: number
  readonly timed_out: boolean
  readonly largest: number
}

const answerOf = (end: CommandEnd, { stdout, stderr, duration_ms, timed_out, largest }: Facts): Answer => {
  const within = (limit?: number): Answer => {
    const [out, err] = [stdout.text(limit), stderr.text(limit)]
    return {
      exit_code: timed_out ? null : end.code,
      signal: end.signal,
      stdout: out.text,
      stderr: err.text,
      truncated: out.truncated || err.truncated,
      duration_ms,
      timed_out,
    }
  }
  // Control characters take six bytes each in JSON, so that not all that is kept can always be sent.
  const answer = within()
  if ((answer.stdout.length + answer.stderr.length) * 6 < largest) return answer
  return Buffer.byteLength(JSON.stringify(answer)) < largest ? answer : within(Math.floor(largest / 12))
}

/** Why a command could not be started at all. */
const refusalOf = (refusal: NodeJS.ErrnoException): unknown => {
  const { code, message } = refusal
  if (code === 'E2BIG') {
    const text = 'is longer, with the environment, than the system takes for a program (about 128 KiB)'
    return new SvcError('validation_failed', `The command ${text}.`, {
      errors: [{ pointer: '/command', message: text }],
    })
  }
  if (code === 'EAGAIN' || code === 'ENOMEM' || code === 'EMFILE' || code === 'ENFILE') {
    return new SvcError('quota_exceeded', `The machine can't start another program now (${message}).`)
  }
  // Looked at a moment ago: it was removed, or closed, in between.
  if (code === 'ENOENT' || code === 'ENOTDIR') return new SvcError('not_found', message)
  if (code === 'EACCES' || code === 'EPERM') return new SvcError('file_access_denied', message)
  return refusal
}
