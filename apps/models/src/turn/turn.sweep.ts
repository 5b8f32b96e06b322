import type { Clock } from '#common/kernel/clock.js'
import type { Database } from '#common/kernel/database/database.js'
import type { Logger } from '#common/kernel/log.js'
import type { Holders } from '../session/holder.repository.js'
import type { TurnRepository } from './turn.repository.js'

/** Ms between two looks; it takes two of them to call a holder dead. */
const sweepEvery = 60_000

/**
 * Says `outcome_unknown` of calls whose process is gone and that nobody asks for again, as of a node that was canceled
 * meanwhile: a record must not say `started` for ever.
 */
export class TurnSweep {
  #callOff: () => void = () => undefined

  constructor(
    private readonly database: Database,
    private readonly turns: TurnRepository,
    private readonly holders: Holders,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  start(): void {
    this.#callOff = this.clock.after(sweepEvery, () => {
      this.start()
      this.round().catch((err: unknown) => this.log.warn({ err }, 'open model calls could not be looked at'))
    })
  }

  stop(): void {
    this.#callOff()
  }

  /** Answers how many calls were given up. */
  async round(): Promise<number> {
    let forsaken = 0
    for (const holder of await this.turns.openHolders(this.database)) {
      if (!(await this.holders.isDead(holder))) continue
      const calls = await this.turns.forsakeAll(this.database, holder, this.clock.now())
      this.log.warn({ holder, calls }, 'model calls ended unseen')
      forsaken += calls
    }
    return forsaken
  }
}
