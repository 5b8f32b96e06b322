import { cronLimits, type PossibleAction } from '#common/contract/cron.schema.js'
import { type Authority, contract, type OutputOf } from '#common/contract/index.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import { type Clock, pause } from '#common/kernel/clock.js'
import type { Settings } from '#common/kernel/config.js'
import { type Actor, type Context, systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import { hasCode, isSvcError, SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { PUNCTUAL } from '../schedule/slot.plan.js'
import { ledgerOf } from './fire.ledger.js'
import { fireMachine } from './fire.machine.js'
import type { FireEnd } from './fire.outcome.js'
import { workKeyOf } from './fire.record.js'
import type { FireRepository, HeldFire } from './fire.repository.js'
import { refusalOf } from './refusal.js'
import { lease } from './starter.js'
import { storable } from './storable.js'

type Command = Omit<Extract<PossibleAction, { type: 'bash' }>, 'type'>
type Standing = OutputOf<(typeof contract)['lifecycle.work.actor']>
type Result = OutputOf<(typeof contract)['bash.run']>

/** What is to be run, and for whom. */
interface Order {
  readonly action: Extract<PossibleAction, { type: 'bash' }>
  readonly authority: Authority
}

const { 'lifecycle.work.actor': actor, 'bash.run': bash } = contract
const patience = 5000
/** A command that takes longer than this (ms) is shown as running, and its firing is held from then on. */
const shortCommand = 500
/** Ms between two renewals of the hold on a firing. */
const renewEvery = lease / 3
/**
 * A host knows for a day which commands it began, and runs one a second time after that. This (ms) is less than half of it:
 * of a try that left no word only the next one's time may be known.
 */
const remembered = 10 * 3_600_000
/** Ms between two questions for the answer of a command that runs already under its key. */
const askEvery = 1000

/** A try without an answer, which its host may have heard: its firing is that of a command that ran, as far as one knows. */
export class UnseenCommand extends Error {
  constructor(
    readonly fire: HeldFire,
    readonly reason: unknown,
  ) {
    super('The answer to a command did not come.', { cause: reason })
  }
}

/** Whether a try before this one left no word of what became of it. */
export const isUntold = ({ status, attempts, error }: HeldFire): boolean =>
  status === 'starting' && attempts > 1 && error === null

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
   * @throws what lifecycle or the host said that refused it, or that could not be asked; UnseenCommand
   */
  async run(fire: HeldFire, order: Order): Promise<FireEnd> {
    const firedAt = new Date(this.clock.now())
    if (this.#isForgotten(fire)) return this.#lost(fire, new SvcError('outcome_unknown'), firedAt)
    const known = isUntold(fire) ? shown(fire, firedAt) : fire
    try {
      const standing = await this.#standingOf(order.authority)
      return await this.#carry(known, order, standing, firedAt)
    } catch (error) {
      // who refuses this try says nothing of the one before
      if (known.status === 'running' && refusalOf(error).final) return this.#lost(known, error, firedAt)
      throw known === fire || error instanceof UnseenCommand ? error : new UnseenCommand(known, error)
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
      const ctx = contextFor(known, authority, standing)
      const result = await this.#ask({ ...ctx, signal: AbortSignal.any([ctx.signal, stop.signal]) }, command, standing)
      return this.#ended(known, result, firedAt)
    } catch (error) {
      if (hasCode(error, 'outcome_unknown')) return this.#lost(known, error, firedAt)
      if (stop.signal.aborted) {
        return this.#broken(known, { event: 'cancel', cause: 'work_canceled', error: stop.signal.reason }, firedAt)
      }
      throw mayRun(error) ? new UnseenCommand(shown(known, firedAt), error) : error
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

  #standingOf(by: Authority): Promise<Standing> {
    return this.bus.call(actor, systemContext('scheduler'), { by }, { timeout: patience })
  }

  /** Whether it may have run so long ago that its host would not know any more. */
  #isForgotten(fire: HeldFire): boolean {
    const began = fire.status === 'running' || isUntold(fire) ? (fire.fired_at ?? fire.noted_at) : undefined
    return began !== undefined && this.clock.now() - began.getTime() > remembered
  }

  /** Answers how to let go. Whose authority ends, or no longer suffices, has the command ended. */
  #hold(
    fire: HeldFire,
    { firedAt, authority, stop }: { firedAt: Date; authority: Authority; stop: AbortController },
  ): () => void {
    let callOff: () => void = () => undefined
    const renew = (): void => {
      if (this.#closed) return
      this.#standingOf(authority).catch((error: unknown) => refusalOf(error).final && stop.abort(error))
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

  #broken(
    { cron_id, slot, fired_at }: HeldFire,
    { event, cause, error }: Pick<FireEnd, 'event' | 'cause'> & { readonly error: unknown },
    firedAt: Date,
  ): FireEnd {
    const found = { fired_at: fired_at ?? firedAt, error: refusalOf(error).error }
    return { cron_id, slot, event, cause, ended_at: new Date(this.clock.now()), found }
  }
}

/** A command's firing is that of the try that was seen to run first. */
const firedSince = (fire: HeldFire, firedAt: Date): Pick<HeldFire, 'cause' | 'fired_at'> => {
  const fired_at = fire.fired_at ?? firedAt
  const late = fired_at.getTime() - fire.due_at.getTime() > PUNCTUAL
  return { fired_at, cause: fire.cause ?? (late ? 'late' : null) }
}

/** The firing of a command that runs, as far as one knows. */
const shown = (fire: HeldFire, firedAt: Date): HeldFire => {
  const begun = fire.status === 'starting' ? fireMachine.apply(fire, 'begin') : fire
  const running = { ...begun, ...firedSince(fire, firedAt) }
  return { ...running, ledger: ledgerOf(running) }
}

/** Whether a host may have heard what failed so: not where nobody listened, nor where it refused. */
const mayRun = (error: unknown): boolean =>
  !isSvcError(error) ||
  (error.facts.retryable && error.fields.delivered !== false && error.fields.retry_after_ms === undefined)

const contextFor = (fire: HeldFire, by: Authority, { scopes, place, generation }: Standing): Context => {
  const actor: Actor = {
    kind: by.kind,
    principal: by.principal,
    tokenId: null,
    scopes,
    ...(by.app_id !== null && { appId: by.app_id }),
    ...(by.profile !== null && { profile: by.profile }),
    ...(by.node_id !== null && { nodeId: by.node_id }),
    ...(generation !== null && { generation }),
    ...(place && { place }),
  }
  return { ...systemContext('scheduler'), actor, idempotencyKey: `cron:${workKeyOf(fire)}` }
}

const faultOf = ({ exit_code, signal, timed_out }: Pick<Result, 'exit_code' | 'signal' | 'timed_out'>): string => {
  if (timed_out) return 'The command ran out of time.'
  return exit_code === null ? `The command was ended by ${signal}.` : `The command ended with exit code ${exit_code}.`
}
