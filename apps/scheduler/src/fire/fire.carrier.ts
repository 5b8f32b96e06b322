import { contract, type OutputOf } from '#common/contract/index.js'
import type { Bus } from '#common/kernel/bus/bus.js'
import { backoff, type Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Database } from '#common/kernel/database/database.js'
import { isSvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { PUNCTUAL } from '../schedule/slot.plan.js'
import { Batcher } from './batcher.js'
import type { CommandRunner } from './command.runner.js'
import type { FireEnds } from './fire.end.service.js'
import { ledgerOf } from './fire.ledger.js'
import { fireMachine } from './fire.machine.js'
import { type FireRecord, workKeyOf } from './fire.record.js'
import type { FireRepository, HeldFire } from './fire.repository.js'
import type { Publisher } from './publisher.js'
import { refusalOf } from './refusal.js'
import { isCarriedHere, isUntold, UnseenTry } from './unseen.js'

type Started = OutputOf<(typeof contract)['lifecycle.work.start']>

const { 'lifecycle.work.start': start, 'lifecycle.work.states': states } = contract

/** Longest wait for lifecycle (ms); below the lease of a firing, so that no other asks meanwhile. */
const patience = 8000
/** Beginnings that share one statement at most. */
const batch = 100
/** Tries are made for as long (ms) at least, however short the schedule's window is. */
const triesAtLeast = 60_000
/** Ms between two tries, at least and by the back-off. */
const again = { least: 500, base: 1000, cap: 30_000 }

/** What is under way for a firing, as far as the one who does it says. */
interface Beginning {
  readonly fired_at: Date
  readonly node_id: string | null
  readonly message_id: string | null
}

/**
 * Carries a firing out: lifecycle begins its work under its key, a host runs its command, or its event is published.
 * Whatever can't be asked for now is tried again until it is too old; what is refused has failed.
 */
export class FireCarrier {
  readonly #beginnings: Batcher<FireRecord>
  #closed = false

  constructor(
    private readonly database: Database,
    private readonly fires: FireRepository,
    private readonly ends: FireEnds,
    private readonly commands: CommandRunner,
    private readonly publisher: Publisher,
    private readonly bus: Bus,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    this.#beginnings = new Batcher<FireRecord>({
      keyOf: workKeyOf,
      size: batch,
      // lost, they are asked for once more under the same key when their lease is over
      run: (begun) => this.fires.begin(this.database, begun),
      failure: 'that works have begun could not be recorded yet',
      log,
    })
  }

  /** Never rejects. */
  async carry(fire: HeldFire): Promise<void> {
    try {
      await this.#try(fire)
    } catch (error) {
      const [known, why] = error instanceof UnseenTry ? [error.fire, error.reason] : [fire, error]
      if (!this.#closed) await this.#failed(known, why).catch((err: unknown) => this.#leave(known, err))
    }
  }

  /** What fails from now on is left to another process. */
  close(): Promise<void> {
    this.#closed = true
    this.commands.close()
    return this.#beginnings.close()
  }

  /** @throws what the one said who was asked */
  async #try(fire: HeldFire): Promise<void> {
    const { action, authority } = fire
    if (!action || !authority) return this.#abandoned(fire)
    // nobody was there to begin it in time; what was seen to run, or may have been heard, has begun, and is asked after
    const now = new Date(this.clock.now())
    const isTooOld = fire.status === 'starting' && now.getTime() >= this.#deadlineOf(fire)
    if (isTooOld) return this.#giveUp(fire, fire.error, now)
    if (action.type === 'bash') return this.ends.end(await this.commands.run(fire, { action, authority }))
    if (action.type === 'publish') return this.ends.end(await this.publisher.publish(fire, { action, authority }))
    const asked = this.clock.now()
    const started = await this.bus.call(
      start,
      systemContext('scheduler'),
      { key: workKeyOf(fire), by: authority, action },
      { timeout: patience },
    )
    this.#begun(fire, beginningOf(started, asked))
  }

  #begun(fire: HeldFire, beginning: Beginning): void {
    const late = beginning.fired_at.getTime() - fire.due_at.getTime() > PUNCTUAL
    const begun = fireMachine.apply(
      { ...fire, ...beginning, cause: fire.cause ?? (late ? 'late' : null), noted_at: new Date(this.clock.now()) },
      'begin',
    )
    this.#beginnings.add([{ ...begun, ledger: ledgerOf(begun) }])
  }

  async #failed(fire: HeldFire, error: unknown): Promise<void> {
    const now = new Date(this.clock.now())
    const refusal = refusalOf(error)
    if (refusal.final) {
      const { error: why } = refusal
      this.ends.end({
        ...tryOf(fire),
        event: 'fail',
        cause: 'refused',
        ended_at: now,
        found: { error: why, fired_at: now },
      })
      return
    }
    this.log.debug({ err: error, key: workKeyOf(fire), attempts: fire.attempts }, 'a firing could not be started yet')
    if (now.getTime() >= this.#deadlineOf(fire)) await this.#giveUp(fire, refusal.error, now)
    else await this.#putOff(fire, refusal.error, now)
  }

  async #putOff(fire: HeldFire, error: FireRecord['error'], now: Date): Promise<void> {
    const pause = again.least + backoff(fire.attempts, again.base, again.cap)
    await this.fires.putOff(this.database, fire, new Date(now.getTime() + pause), error, now)
  }

  #deadlineOf({ due_at, noted_at, catchup_window_s }: HeldFire): number {
    return Math.max(due_at.getTime() + (catchup_window_s ?? 0) * 1000, noted_at.getTime() + triesAtLeast)
  }

  /** It is too old, unless one of the tries was heard after all. While nobody can say that it stays where it is. */
  async #giveUp(fire: HeldFire, error: FireRecord['error'], now: Date): Promise<void> {
    if (isCarriedHere(fire)) {
      // what was seen to run, or of which a try left no word, may have done all or nothing
      const lost = fire.status === 'running' || isUntold(fire)
      this.ends.end({
        ...tryOf(fire),
        event: lost ? 'lose' : 'miss',
        cause: lost ? 'outcome_unknown' : 'window',
        ended_at: now,
        found: { error },
      })
      return
    }
    const work = await this.#stateOf(fire).catch(() => undefined)
    if (!work) await this.#putOff(fire, error, now)
    else if (work.state === 'absent')
      this.ends.end({ ...tryOf(fire), event: 'miss', cause: 'window', ended_at: now, found: { error } })
    else this.#begun(fire, { fired_at: now, node_id: work.node_id, message_id: null })
  }

  /** Its schedule is gone: nobody can say any more what to do, only what was done. */
  async #abandoned(fire: HeldFire): Promise<void> {
    const now = new Date(this.clock.now())
    if (fire.status === 'running') {
      this.ends.end({ ...tryOf(fire), event: 'lose', cause: 'outcome_unknown', ended_at: now })
      return
    }
    const work = await this.#stateOf(fire)
    if (work.state !== 'absent') this.#begun(fire, { fired_at: now, node_id: work.node_id, message_id: null })
    // what lifecycle doesn't know may have been a command that a host was told, or an event
    else if (isUntold(fire)) this.ends.end({ ...tryOf(fire), event: 'lose', cause: 'outcome_unknown', ended_at: now })
    else this.ends.end({ ...tryOf(fire), event: 'cancel', cause: 'cron_ended', ended_at: now })
  }

  async #stateOf(fire: HeldFire): Promise<OutputOf<typeof states>['works'][number]> {
    const { works } = await this.bus.call(
      states,
      systemContext('scheduler'),
      { keys: [workKeyOf(fire)] },
      { timeout: patience },
    )
    const [work] = works
    if (!work) throw new Error(`lifecycle did not say what became of ${workKeyOf(fire)}`)
    return work
  }

  /** Its lease runs out, and whoever takes it then tries again. */
  #leave(fire: HeldFire, err: unknown): void {
    if (!isSvcError(err)) this.log.error({ err, key: workKeyOf(fire) }, 'a firing could not be put off')
  }
}

/** Names a firing and the try that this process makes of it. */
const tryOf = ({ cron_id, slot, attempts }: FireRecord): Pick<FireRecord, 'cron_id' | 'slot' | 'attempts'> => ({
  cron_id,
  slot,
  attempts,
})

/** @param asked when it was asked for (ms): a try before that may have been heard already */
const beginningOf = ({ accepted_at, node_id, message_id }: Started, asked: number): Beginning => ({
  fired_at: new Date(Math.min(asked, Date.parse(accepted_at))),
  node_id,
  message_id,
})
