import type { PossibleAction } from '#common/contract/cron.schema.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { CronRecord } from '../cron/cron.record.js'
import { ledgerOf } from './fire.ledger.js'
import { fireMachine } from './fire.machine.js'
import type { FireRecord } from './fire.record.js'
import type { FireRepository, HeldFire } from './fire.repository.js'

/**
 * How long (ms) one process holds a firing that it starts. Longer than any of its questions takes; when it dies another
 * starts it after that, under the same key.
 */
export const lease = 15_000
/** Starts that are under way at once, besides commands. */
const concurrency = 32
/** Commands that run at once for this process. */
const commands = 64
/** Firings of a lane that wait here for their turn at most: what is beyond that is left to whoever has room. */
const longestQueue = 500

/** Carries one firing out as far as it goes; never rejects. */
export type Perform = (fire: HeldFire) => Promise<void>

/** Commands are waited for, and so have a lane of their own: however many there are, they hold up nothing else. */
export const laneNames = ['starts', 'commands'] as const
export type LaneName = (typeof laneNames)[number]

export const laneOf = ({ action }: Pick<CronRecord, 'action'> | HeldFire): LaneName =>
  action?.type === 'bash' ? 'commands' : 'starts'

/** Firings wait their turn in a lane, and run there side by side. */
class Lane {
  readonly #waiting: HeldFire[] = []
  readonly #running = new Set<Promise<void>>()

  constructor(
    private readonly width: number,
    private readonly perform: Perform,
  ) {}

  get waiting(): number {
    return this.#waiting.length
  }

  add(fire: HeldFire): void {
    this.#waiting.push(fire)
    this.#pump()
  }

  /** Resolves when nothing runs any more; what waits is dropped. */
  async drain(): Promise<void> {
    this.#waiting.length = 0
    await Promise.all(this.#running)
  }

  #pump(): void {
    while (this.#running.size < this.width) {
      const fire = this.#waiting.shift()
      if (!fire) return
      const run = this.perform(fire).finally(() => {
        this.#running.delete(run)
        this.#pump()
      })
      this.#running.add(run)
    }
  }
}

/** Starts what was decided about, as much at once as this machine bears. */
export class Starter {
  #lanes: Readonly<Record<LaneName, Lane>> | undefined
  #closed = false

  constructor(
    private readonly fires: FireRepository,
    private readonly clock: Clock,
  ) {}

  /** @param perform what a start does */
  open(perform: Perform): void {
    const held: Perform = async (fire) => {
      // it waited here for so long that another may have taken it
      if ((fire.held_until?.getTime() ?? 0) > this.clock.now()) await perform(fire)
    }
    this.#lanes = { starts: new Lane(concurrency, held), commands: new Lane(commands, held) }
  }

  /** Firings of a lane that may be taken now. */
  room(lane: LaneName): number {
    return !this.#lanes || this.#closed ? 0 : Math.max(0, longestQueue - this.#lanes[lane].waiting)
  }

  /** How a firing that begins now is held: by this process, where it has room for it, else free for any other. */
  holding(now: Date, room: number): Pick<FireRecord, 'attempts' | 'held_until'> {
    return room > 0 ? { attempts: 1, held_until: new Date(now.getTime() + lease) } : { attempts: 0, held_until: now }
  }

  take(fires: readonly HeldFire[]): void {
    if (!this.#lanes || this.#closed) return
    for (const fire of fires) this.#lanes[laneOf(fire)].add(fire)
  }

  /** The turn of a firing that waited for another has come. */
  release(tx: Tx, cron: CronRecord, fire: FireRecord, now: Date): void {
    const begun = {
      ...fireMachine.apply(fire, 'release'),
      ...this.holding(now, this.room(laneOf(cron))),
      noted_at: now,
    }
    const released = { ...begun, ledger: ledgerOf(begun) }
    this.fires.update(tx, [released])
    tx.afterCommit(() => this.take(heldOf(cron, [released])))
  }

  /** Begins nothing more, and resolves when what is under way is through. */
  async drain(): Promise<void> {
    this.#closed = true
    await Promise.all([this.#lanes?.starts.drain(), this.#lanes?.commands.drain()])
  }
}

/** Those that this process holds, with what their schedule says. */
export const heldOf = (cron: CronRecord, fires: readonly FireRecord[]): HeldFire[] =>
  fires
    .filter(({ attempts }) => attempts > 0)
    .map((fire) => ({
      ...fire,
      action: cron.action as PossibleAction,
      authority: cron.authority,
      catchup_window_s: cron.catchup_window_s,
    }))
