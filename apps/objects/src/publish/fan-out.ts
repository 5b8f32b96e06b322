import type { Clock } from '#common/kernel/clock.js'
import { systemContext } from '#common/kernel/context.js'
import type { Tx } from '#common/kernel/database/tx.js'
import type { Writer } from '#common/kernel/database/writer.js'
import type { Logger } from '#common/kernel/log.js'
import type { Wake } from '../delivery/wake.js'
import type { Running } from '../objects.lifetime.js'
import type { Expansion } from './expansion.js'
import type { FanoutRepository } from './fanout.repository.js'
import type { SpreadEvent, SpreadRepository } from './spread.repository.js'

/** Watchers, and deliveries to them, of one step: it is over within some ten ms, and holds nobody up for longer. */
const watchersOfStep = 500
const deliveriesOfStep = 5000
/** Ms after which it looks by itself: for what a process left that died, or that another one was too busy for. */
const lookEvery = 1000

/**
 * Delivers events with many watchers, step by step, behind the back of who published them. Any number of processes work at
 * it, one at a time at the events of one source, which therefore come to each watcher in their order. A step is one
 * transaction that also notes how far it came: one that dies in between is taken up where the step before had ended.
 */
export class FanOut implements Running {
  #running: Promise<void> | undefined
  #again = false
  #stopped = true
  #callOff: () => void = () => undefined
  /** Sources take turns: where the last step was. */
  #last = ''

  constructor(
    private readonly writer: Writer,
    private readonly fanouts: FanoutRepository,
    private readonly deliveries: SpreadRepository,
    expansion: Expansion,
    private readonly wake: Wake,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    expansion.onDeferred(() => this.look())
  }

  start(): void {
    this.#stopped = false
    this.look()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#callOff()
    await this.#running
  }

  /** Works until nothing is left that it may take. */
  look(): void {
    this.#again = true
    if (this.#stopped) return
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined
      if (this.#again && !this.#stopped) this.look()
      else this.#rest()
    })
  }

  #rest(): void {
    this.#callOff()
    if (!this.#stopped) this.#callOff = this.clock.after(lookEvery, () => this.look())
  }

  async #work(): Promise<void> {
    this.#again = false
    try {
      while (!this.#stopped && (await this.#step()));
    } catch (err) {
      this.log.warn({ err }, 'events could not be brought to all who watch; it is tried again')
    }
  }

  /** Whether there was something to do. */
  #step(): Promise<boolean> {
    return this.writer.transact(systemContext('objects'), async ({ tx }) => {
      const head = (await this.fanouts.claim(tx, this.#last)) ?? (this.#last && (await this.fanouts.claim(tx, '')))
      if (!head) return false
      this.#last = head.source_id
      const [events, watchers] = await Promise.all([
        this.fanouts.together(tx, head, deliveriesOfStep),
        this.fanouts.watchersBehind(tx, head, watchersOfStep),
      ])
      const taken = events.slice(0, Math.max(1, Math.floor(deliveriesOfStep / Math.max(1, watchers.length))))
      await this.#deliver(tx, taken, watchers)
      const seqs = taken.map(({ seq }) => seq)
      const last = watchers.at(-1)
      if (last !== undefined && watchers.length === watchersOfStep) this.fanouts.advance(tx, head.source_id, seqs, last)
      else this.fanouts.remove(tx, head.source_id, seqs)
      return true
    })
  }

  async #deliver(
    tx: Tx,
    events: Awaited<ReturnType<FanoutRepository['together']>>,
    watchers: readonly string[],
  ): Promise<void> {
    const there = events.filter((event): event is SpreadEvent => event.event !== null)
    if (there.length === 0 || watchers.length === 0) return
    const told = await this.deliveries.deliver(tx, there, new Date(this.clock.now()), watchers)
    tx.afterCommit(() => this.wake.tell(told))
  }
}
