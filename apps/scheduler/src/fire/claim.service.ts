import type { Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Writer } from '#common/kernel/database/writer.js'
import type { Logger } from '#common/kernel/log.js'
import { PUNCTUAL } from '../schedule/slot.plan.js'
import type { Timers } from '../timer/timers.js'
import { Batcher } from './batcher.js'
import type { SlotDecider } from './slot.decider.js'

/** Schedules that one transaction decides about at most. */
const batch = 100

/**
 * Takes schedules that are due, decides about their slots, and sets the timers of the next ones. Any number of processes
 * may be told of the same one: who locks its row first decides, and finds nothing due the second time.
 */
export class Claims {
  readonly #batcher: Batcher<string>

  constructor(
    private readonly writer: Writer,
    private readonly decider: SlotDecider,
    private readonly timers: Timers,
    private readonly clock: Clock,
    log: Logger,
  ) {
    this.#batcher = new Batcher<string>({
      keyOf: (id) => id,
      size: batch,
      run: (ids) => this.#decide(ids),
      failure: 'schedules that are due could not be looked at; the sweep finds them',
      log,
    })
  }

  /** A timer rang. One that rang too late leaves its schedule to the sweep, which spreads what was missed. */
  rung(id: string, due: number): void {
    if (this.clock.now() - due <= PUNCTUAL) this.#batcher.add([id])
  }

  /** Resolves when these have been decided about. */
  async claim(ids: readonly string[]): Promise<void> {
    this.#batcher.add(ids)
    await this.#batcher.settled()
  }

  close(): Promise<void> {
    return this.#batcher.close()
  }

  async #decide(ids: readonly string[]): Promise<void> {
    await this.writer.transact(systemContext('scheduler'), async (ctx) => {
      const now = new Date(this.clock.now())
      const moved = await this.decider.decideDue(ctx, ids, now)
      // lost, the sweep finds the next slot when it is due
      if (moved.length) ctx.tx.afterCommit(async () => void (await this.timers.arm(moved)))
    })
  }
}
