import type { Tx } from '#common/kernel/database/tx.js'
import type { Wake } from '../delivery/wake.js'
import type { FanoutRepository } from './fanout.repository.js'
import type { LockedSource } from './publication.repository.js'
import type { SpreadEvent, SpreadRepository } from './spread.repository.js'

/** Watchers of a source to which one transaction delivers by itself; where there are more, whoever publishes doesn't wait for it. */
export const inlineWatchers = 64

/** Brings events of locked sources to those who watch them. */
export class Expansion {
  readonly #deferred = new Set<() => void>()

  constructor(
    private readonly deliveries: SpreadRepository,
    private readonly fanouts: FanoutRepository,
    private readonly wake: Wake,
  ) {}

  /**
   * Writes the deliveries of these events, or puts the events behind those of their source that wait for the fan-out, and
   * tells the receivers after commit. Nothing needs to be awaited: what fails, fails the transaction.
   *
   * @param events in the order of their numbers, for each of these sources
   */
  spread(tx: Tx, sources: readonly LockedSource[], events: readonly SpreadEvent[], at: Date): void {
    const now = new Set<string>()
    const later = new Set<string>()
    for (const { id, watchers, fanning } of sources) {
      if (watchers > 0) (fanning || watchers > inlineWatchers ? later : now).add(id)
    }
    const deferred = events.filter(({ source_id }) => later.has(source_id))
    if (deferred.length > 0) {
      this.fanouts.add(tx, deferred)
      tx.afterCommit(() => this.#tellDeferred())
    }
    const direct = events.filter(({ source_id }) => now.has(source_id))
    if (direct.length > 0) this.#deliver(tx, bySource(direct), at)
  }

  /** Calls back after each commit that left events to the fan-out. */
  onDeferred(listener: () => void): void {
    this.#deferred.add(listener)
  }

  #deliver(tx: Tx, events: readonly SpreadEvent[], at: Date): void {
    let told: readonly string[] = []
    this.deliveries.deliver(tx, events, at).then(
      (ids) => {
        told = ids
      },
      () => undefined, // kept as the transaction's failure
    )
    tx.afterCommit(() => this.wake.tell(told))
  }

  #tellDeferred(): void {
    for (const listener of this.#deferred) listener()
  }
}

/** Those of each source together, in the order that they have. */
const bySource = (events: readonly SpreadEvent[]): SpreadEvent[] =>
  [...Map.groupBy(events, ({ source_id }) => source_id).values()].flat()
