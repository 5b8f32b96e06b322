import type { Clock } from '#common/kernel/clock.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Logger } from '#common/kernel/log.js'
import { PUNCTUAL } from '../schedule/slot.plan.js'
import type { Refill } from '../timer/refill.js'
import type { Claims } from './claim.service.js'
import type { FireEnds } from './fire.end.service.js'
import type { FireRepository } from './fire.repository.js'
import { laneNames, lease, type Starter } from './starter.js'

/** Ms between two rounds. */
const sweepEvery = 1000
/** A timer has this long (ms) before the sweep does its work. */
const grace = 100
/** Schedules that are overdue and fire: so many begin in one round, so that an outage isn't followed by a rush. */
const lateRound = 20
/** Schedules that are looked at in one round, of those that are due and of those that only note that they are paused. */
const dueRound = 1000
/** Rounds between two looks for what waits for nothing, or for too long. */
const reviewEvery = 30
const reviewed = 100
/** Ms for which a firing is held or put off at most, generously. */
const longestHold = 120_000
const longAgo = new Date(0)

/**
 * The net below the timers: looks in the database for what is due, for starts that nobody holds any more, and for timers
 * that Redis lost. With it alone everything still happens, up to a second late.
 */
export class Sweep {
  #callOff: () => void = () => undefined
  #round: Promise<unknown> = Promise.resolve()
  #rounds = 0
  #stopped = false
  #failing = false

  constructor(
    private readonly database: Database,
    private readonly fires: FireRepository,
    private readonly claims: Claims,
    private readonly ends: FireEnds,
    private readonly starter: Starter,
    private readonly refill: Refill,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  start(): void {
    if (this.#stopped) return
    this.#round = this.#all().finally(() => {
      if (!this.#stopped) this.#callOff = this.clock.after(sweepEvery, () => this.start())
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#callOff()
    await this.#round
  }

  /** Decides about schedules that are due; answers how many there were. */
  async due(): Promise<number> {
    const now = this.clock.now()
    const recent = { from: new Date(now - PUNCTUAL), to: new Date(now - grace) }
    const overdue = { from: longAgo, to: recent.from }
    const ids = (
      await Promise.all([
        this.fires.due(this.database, recent, dueRound),
        this.fires.due(this.database, overdue, lateRound, 'active'),
        this.fires.due(this.database, overdue, dueRound, 'resting'),
      ])
    ).flat()
    await this.claims.claim(ids)
    return ids.length
  }

  async #all(): Promise<void> {
    this.#rounds += 1
    try {
      await this.due()
      await this.#starts()
      if (this.#rounds % reviewEvery === 0) await this.#review()
      this.#failing = false
    } catch (err) {
      if (!this.#failing && !this.#stopped) this.log.warn({ err }, 'what is due could not be looked for; trying again')
      this.#failing = true
    }
    // not waited for: a Redis that says nothing must not hold this up
    void this.refill.look()
  }

  /** Starts whose process died, or whose next try has come. */
  async #starts(): Promise<void> {
    const now = this.clock.now()
    for (const lane of laneNames) {
      const vacancy = this.starter.vacancy(lane)
      if (vacancy.limit === 0) continue
      const held = { now: new Date(now), until: new Date(now + lease) }
      this.starter.take(await this.fires.take(this.database, held, lane === 'commands', vacancy))
    }
  }

  /**
   * What a clock held that was ahead; and what waits for the firing before it, and that is over: the same transaction ends
   * one and begins the other, so nothing should.
   */
  async #review(): Promise<void> {
    const now = this.clock.now()
    await this.fires.free(this.database, new Date(now), new Date(now + longestHold))
    const stuck = await this.fires.stuck(this.database, reviewed)
    if (stuck.length) await this.ends.review(stuck)
  }
}
