import { contract, type OutputOf } from '#common/contract/index.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import { type Clock, pause } from '#common/kernel/clock.js'
import type { Settings } from '#common/kernel/config.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import { hasCode, isSvcError } from '#common/kernel/errors.js'
import type { Addressee, Carrier, Outcome, Outgoing } from './carrier.js'
import { messageOf } from './event.message.js'
import { shownTail } from './fault.js'

const run = contract['host.argv.run']
type Ended = OutputOf<typeof run>

const programWithin = 30_000
/** Ms between two questions for the end of a program that runs already, under its key or for the receiver as it was before. */
const askEvery = 1000
/** Ms for which a receiver rests when the host can't be asked, or runs as much as it may. */
const restAfter = 5000

/** What the host says of the program itself: it will say the same the next time, until somebody has changed something. */
const verdicts = [
  'not_found',
  'not_a_directory',
  'file_access_denied',
  'validation_failed',
  'outcome_unknown',
  'idempotency_key_reused',
  // it knows not what to make of it: that comes to light by tries that are told
  'internal',
] as const

/**
 * Deliveries to a program: the event as one line of JSON on its standard input, acknowledged by exit code 0. One at a time
 * for each receiver, in their order. Each try has a key, under which the host runs it once: should this process die, the
 * next one asks for the end of what was begun. What another receiver in its place is sent waits for that end too.
 */
export class ArgvCarrier implements Carrier {
  readonly kind = 'argv'
  readonly receivers = 16
  readonly lanes = 1
  readonly batch = 1

  constructor(
    private readonly bus: Bus,
    private readonly settings: Settings,
    private readonly clock: Clock,
    /** Ms that a program may take. */
    private readonly within = programWithin,
  ) {}

  async carry(to: Addressee, deliveries: readonly Outgoing[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = []
    for (const delivery of deliveries) outcomes.push(await this.#run(to, delivery, signal))
    return outcomes
  }

  async #run(to: Addressee, delivery: Outgoing, signal: AbortSignal): Promise<Outcome> {
    try {
      const ended = await this.#ask(to, delivery, signal)
      if (ended === undefined) return { kind: 'later', ms: 0 }
      return ended.exit_code === 0 ? { kind: 'acked' } : { kind: 'failed', error: faultOf(ended, this.within) }
    } catch (error) {
      if (hasCode(error, ...verdicts)) return { kind: 'failed', error: error.message }
      // whatever was begun is asked for again, under the same key
      if (isSvcError(error)) return { kind: 'later', ms: restAfter }
      throw error
    }
  }

  /** The program's end; undefined when this process leaves before, which the program doesn't notice. */
  async #ask(to: Addressee, delivery: Outgoing, signal: AbortSignal): Promise<Ended | undefined> {
    if (to.receiver?.type !== 'argv') return undefined
    const { argv, cwd = null, env = {} } = to.receiver
    const asked = {
      lane: to.id,
      argv,
      cwd,
      env: { ...env, SVC_DELIVERY_ID: delivery.id, SVC_EVENT: delivery.event },
      stdin: `${JSON.stringify(messageOf(delivery))}\n`,
      timeout: this.within,
    }
    const ctx: Context = { ...contextOf(delivery), idempotencyKey: keyOf(to, delivery) }
    const { promise: left, resolve: leave } = Promise.withResolvers<undefined>()
    const onAbort = (): void => leave(undefined)
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      while (!signal.aborted) {
        const call = this.bus.call(run, ctx, asked, { target: this.settings.SVC_HOST_ID, outlives: true })
        const ended = await Promise.race([call, left]).catch((error: unknown) => {
          if (!hasCode(error, 'idempotency_in_progress')) throw error
          return 'runs' as const
        })
        if (ended !== 'runs') return ended
        await pause(this.clock, askEvery, signal)
      }
      return undefined
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
  }
}

const contextOf = ({ request_id, traceparent }: Outgoing): Context => ({
  ...systemContext('objects'),
  ...(request_id !== null && { requestId: request_id }),
  ...(traceparent !== null && { traceparent }),
})

/** Of one try: the same number comes again after a replay, due at another moment, and after a change of the receiver. */
const keyOf = ({ receiver_version }: Addressee, { id, attempt, planned_at }: Outgoing): string =>
  `${id}:${receiver_version}:${attempt}:${planned_at?.getTime() ?? 0}`

const faultOf = ({ exit_code, signal, timed_out, stdout, stderr }: Ended, within: number): string => {
  const how = timed_out
    ? `did not end within ${within / 1000} seconds`
    : exit_code === null
      ? `was ended by ${signal}`
      : `ended with exit code ${exit_code}`
  const said = shownTail(stderr) || shownTail(stdout)
  return `The program ${how}${said === '' ? '.' : `: ${said}`}`
}
