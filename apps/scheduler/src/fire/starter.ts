import type { PossibleAction } from '#common/contract/cron.schema.js'
import type { Clock } from '#common/kernel/clock.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { CronRecord } from '../cron/cron.record.js'
import { ledgerOf } from './fire.ledger.js'
import { fireMachine } from './fire.machine.js'
import type { FireRecord } from './fire.record.js'
import type { FireRepository, HeldFire, Vacancy } from './fire.repository.js'

/**
 * How long (ms) one process holds a firing that it starts. Longer than any of its questions takes; when it dies another
 * starts it after that, under the same key.
 */
export const lease = 15_000
/** Starts that are under way at once, besides commands. */
const concurrency = 32
/** Commands that run at once for this process, and those of one holder. */
const commands = 64
const commandsOfOne = 16
/** Firings of one holder that wait here for their turn at most: what is beyond that is left to whoever has room. */
const longestQueue = { starts: 500, commands: 125 }

/** Carries one firing out as far as it goes; never rejects. */
export type Perform = (fire: HeldFire) => Promise<void>

/** Commands are waited for, and so have a lane of their own: however many there are, they hold up nothing else. */
export const laneNames = ['starts', 'commands'] as const
export type LaneName = (typeof laneNames)[number]

export const laneOf = ({ action }: Pick<CronRecord, 'action'> | HeldFire): LaneName =>
  action?.type === 'bash' ? 'commands' : 'starts'

/** A firing, or its schedule: what tells whose it is. */
type Owned = Pick<CronRecord, 'owner_path' | 'app_id'>

/** An application, a root with all nodes below it, or the owner: no node has a larger share by those that it creates. */
const holderOf = ({ owner_path, app_id }: Owned): string => app_id ?? owner_path.at(-1) ?? 'owner'

interface Measure {
  readonly width: number
  /** Of those, for one holder. */
  readonly share: number
  /** That wait, for one holder. */
  readonly queue: number
}

const measures: Readonly<Record<LaneName, Measure>> = {
  starts: { width: concurrency, share: concurrency, queue: longestQueue.starts },
  commands: { width: commands, share: commandsOfOne, queue: longestQueue.commands },
}

/** Firings wait their turn in a lane, and run there side by side: in the order of their arrival, but that none has more than its share. */
class Lane {
  readonly #waiting: HeldFire[] = []
  readonly #running = new Map<Promise<void>, string>()

  constructor(
    private readonly measure: Measure,
    private readonly perform: Perform,
  ) {}

  /** Firings of this holder that may come, besides those that are about to. */
  room(of: Owned, coming: readonly Owned[]): number {
    const holder = holderOf(of)
    const its = (one: Owned): boolean => holderOf(one) === holder
    return Math.max(0, this.measure.queue - this.#waiting.filter(its).length - coming.filter(its).length)
  }

  get vacancy(): Vacancy {
    const { queue } = this.measure
    const free = [...Map.groupBy(this.#waiting, holderOf)].map(([holder, { length }]) => ({
      holder,
      free: queue - length,
    }))
    const full = free.filter((each) => each.free <= 0).map(({ holder }) => holder)
    return { limit: Math.min(queue, ...free.filter((each) => each.free > 0).map((each) => each.free)), full }
  }

  add(fire: HeldFire): void {
    this.#waiting.push(fire)
    this.#pump()
  }

  /** Resolves when nothing runs any more; what waits is dropped. */
  async drain(): Promise<void> {
    this.#waiting.length = 0
    await Promise.all(this.#running.keys())
  }

  #pump(): void {
    const { width, share } = this.measure
    while (this.#running.size < width) {
      const at = this.#waiting.findIndex((fire) => this.#runningOf(holderOf(fire)) < share)
      const [fire] = at < 0 ? [] : this.#waiting.splice(at, 1)
      if (!fire) return
      const run = this.perform(fire).finally(() => {
        this.#running.delete(run)
        this.#pump()
      })
      this.#running.set(run, holderOf(fire))
    }
  }

  #runningOf(holder: string): number {
    let count = 0
    for (const each of this.#running.values()) if (each === holder) count++
    return count
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
    this.#lanes = { starts: new Lane(measures.starts, held), commands: new Lane(measures.commands, held) }
  }

  /** Firings of a schedule that may be taken now, besides these, which will be. */
  room(cron: CronRecord, coming: readonly HeldFire[] = []): number {
    const lane = laneOf(cron)
    if (!this.#lanes || this.#closed) return 0
    return this.#lanes[lane].room(
      cron,
      coming.filter((fire) => laneOf(fire) === lane),
    )
  }

  /** Firings of a lane that may be taken now, and the holders of which none may. */
  vacancy(lane: LaneName): Vacancy {
    return !this.#lanes || this.#closed ? { limit: 0, full: [] } : this.#lanes[lane].vacancy
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
      ...this.holding(now, this.room(cron)),
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
