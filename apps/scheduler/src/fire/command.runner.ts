import { cronLimits, type PossibleAction } from '#common/contract/cron.schema.js'
import { type Authority, contract, type OutputOf } from '#common/contract/index.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import { type Clock, pause } from '#common/kernel/clock.js'
import type { Settings } from '#common/kernel/config.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { actorOf, type Standing, standingOf } from './acting.js'
import type { FireEnd } from './fire.outcome.js'
import { workKeyOf } from './fire.record.js'
import type { FireRepository, HeldFire } from './fire.repository.js'
import { refusalOf } from './refusal.js'
import { lease } from './starter.js'
import { storable } from './storable.js'
import { broken, firedSince, isForgotten, isUntold, mayBeHeard, shown, UnseenTry } from './unseen.js'

type Command = Omit<Extract<PossibleAction, { type: 'bash' }>, 'type'>
type Result = OutputOf<(typeof contract)['bash.run']>

/** What is to be run, and for whom. */
interface Order {
  readonly action: Extract<PossibleAction, { type: 'bash' }>
  readonly authority: Authority
}

const bash = contract['bash.run']
/** A command that takes longer than this (ms) is shown as running, and its firing is held from then on. */
const shortCommand = 500
/** Ms between two renewals of the hold on a firing. */
const renewEvery = lease / 3
/** Ms between two questions for the answer of a command that runs already under its key. */
const askEvery = 1000

/**
 * Runs the command of a firing on its host, once for its key: when this process dies the next one asks the host under the
 * same key, which tells what the command said, that it goes on, or that it was cut off.
 */
export class CommandRunner {
  #closed = false

  constructor(
    private readonly database: Database,
    private readonly fires: FireRepository,
    private readonly bus: Bus,
    private readonly settings: Settings,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /**
   * Waits for the command's end.
   *
   * @throws what lifecycle or the host said that refused it, or that could not be asked; UnseenTry
   */
  async run(fire: HeldFire, order: Order): Promise<FireEnd> {
    const firedAt = new Date(this.clock.now())
    if (isForgotten(fire, this.clock)) return this.#lost(fire, new SvcError('outcome_unknown'), firedAt)
    const known = isUntold(fire) ? shown(fire, firedAt) : fire
    try {
      const standing = await standingOf(this.bus, order.authority)
      return await this.#carry(known, order, standing, firedAt)
    } catch (error) {
      // who refuses this try says nothing of the one before
      if (known.status === 'running' && refusalOf(error).final) return this.#lost(known, error, firedAt)
      throw known === fire || error instanceof UnseenTry ? error : new UnseenTry(known, error)
    }
  }

  /** Nothing is held any more: the firing of a command that still runs goes to whoever takes it next. */
  close(): void {
    this.#closed = true
  }

  async #carry(known: HeldFire, { action, authority }: Order, standing: Standing, firedAt: Date): Promise<FireEnd> {
    const stop = new AbortController()
    // should this process die now, no word of an earlier try is to stand for this one
    if (known.error !== null) await this.fires.forgetError(this.database, known)
    const letGo = this.#hold(known, { firedAt, authority, stop })
    try {
      const { type: _, ...command } = action
      const actor = actorOf(authority, standing)
      const ctx = { ...systemContext('scheduler'), actor, idempotencyKey: `cron:${workKeyOf(known)}` }
      const result = await this.#ask({ ...ctx, signal: AbortSignal.any([ctx.signal, stop.signal]) }, command, standing)
      return this.#ended(known, result, firedAt)
    } catch (error) {
      if (hasCode(error, 'outcome_unknown')) return this.#lost(known, error, firedAt)
      if (stop.signal.aborted) {
        return this.#broken(known, { event: 'cancel', cause: 'work_canceled', error: stop.signal.reason }, firedAt)
      }
      throw mayBeHeard(error) ? new UnseenTry(shown(known, firedAt), error) : error
    } finally {
      letGo()
    }
  }

  /** The command goes on when this process goes: whoever takes its firing then asks for its answer. */
  async #ask(ctx: Context, command: Command, { place }: Standing): Promise<Result> {
    const target = place?.host_id ?? this.settings.SVC_HOST_ID
    for (let begun = false; ; begun = true) {
      try {
        return await this.bus.call(bash, ctx, command, { target, outlives: true })
      } catch (error) {
        // what another process began, this one can't end
        if (begun && ctx.signal.aborted) throw new SvcError('outcome_unknown')
        if (!hasCode(error, 'idempotency_in_progress') || this.#closed) throw error
        await pause(this.clock, askEvery)
      }
    }
  }

  /** Answers how to let go. Whose authority ends, or no longer suffices, has the command ended. */
  #hold(
    fire: HeldFire,
    { firedAt, authority, stop }: { firedAt: Date; authority: Authority; stop: AbortController },
  ): () => void {
    let callOff: () => void = () => undefined
    const renew = (): void => {
      if (this.#closed) return
      standingOf(this.bus, authority).catch((error: unknown) => refusalOf(error).final && stop.abort(error))
      this.#note(fire, firedAt).catch((err: unknown) =>
        this.log.warn({ err, key: workKeyOf(fire) }, 'a running command could not be noted'),
      )
      callOff = this.clock.after(renewEvery, renew)
    }
    callOff = this.clock.after(shortCommand, renew)
    return () => callOff()
  }

  /** Records that it runs, and holds it for longer. */
  async #note(fire: HeldFire, firedAt: Date): Promise<void> {
    await this.fires.hold(this.database, shown(fire, firedAt), new Date(this.clock.now() + lease))
  }

  #ended(fire: HeldFire, result: Result, firedAt: Date): FireEnd {
    const { exit_code, signal, timed_out, stdout, stderr } = result
    const ok = exit_code === 0 && !timed_out
    const { cause, fired_at } = firedSince(fire, firedAt)
    const error = ok ? null : { code: 'command_failed', message: faultOf({ exit_code, signal, timed_out }) }
    return {
      cron_id: fire.cron_id,
      slot: fire.slot,
      event: ok ? 'succeed' : 'fail',
      cause: ok ? cause : 'work_failed',
      ended_at: new Date(this.clock.now()),
      found: { fired_at, error, exit_code, output: storable(`${stdout}${stderr}`.slice(-cronLimits.outputLength)) },
    }
  }

  #lost(fire: HeldFire, error: unknown, firedAt: Date): FireEnd {
    return this.#broken(fire, { event: 'lose', cause: 'outcome_unknown', error }, firedAt)
  }

  #broken(fire: HeldFire, why: Pick<FireEnd, 'event' | 'cause'> & { readonly error: unknown }, firedAt: Date): FireEnd {
    return broken(fire, why, { firedAt, endedAt: new Date(this.clock.now()) })
  }
}

const faultOf = ({ exit_code, signal, timed_out }: Pick<Result, 'exit_code' | 'signal' | 'timed_out'>): string => {
  if (timed_out) return 'The command ran out of time.'
  return exit_code === null ? `The command was ended by ${signal}.` : `The command ended with exit code ${exit_code}.`
}
