import type { Clock } from '#common/kernel/clock.js'
import type { BrokerProcess } from './broker-process.js'

export interface PoolLimits {
  /** Fresh processes that wait at rest. */
  readonly warm: number
  /** Fresh processes that wait at most, after demand found none. */
  readonly warmCap: number
  /** Nodes that one process serves at most. */
  readonly reuse: number
  /** Used processes that wait at most. */
  readonly usedCap: number
}

/** Demand that found no warm process is remembered this long (ms). */
const demandWindow = 10_000
/** A used process waits this long for another node of its key (ms). */
const usedRest = 15_000
/** Starting a process costs a core some 40 ms, which the run that just began needs more (ms). */
const refillDelay = 150

/**
 * Processes that wait for a node: fresh ones for anybody, used ones for the same principal and app alone. The pool
 * grows by one with each launch that found it empty, and shrinks again when demand is over.
 */
export class BrokerPool {
  readonly #fresh: BrokerProcess[] = []
  readonly #used: { process: BrokerProcess; since: number }[] = []
  #misses: number[] = []
  #refillCallOff: (() => void) | undefined
  #restCallOff: (() => void) | undefined
  #closed = false

  constructor(
    private readonly limits: PoolLimits,
    private readonly clock: Clock,
    private readonly start: () => BrokerProcess,
    private readonly end: (process: BrokerProcess) => void,
  ) {}

  get size(): number {
    return this.#fresh.length + this.#used.length
  }

  /** @throws Error when none waits and none could be started. */
  take(poolKey: string): BrokerProcess {
    const used = this.#used.findLastIndex(({ process }) => process.poolKey === poolKey && process.alive)
    if (used >= 0) return this.#used.splice(used, 1)[0]!.process
    // One that died just now is still in the list until its exit is told.
    const fresh = this.#fresh.findIndex((process) => process.alive)
    this.#refillSoon()
    if (fresh >= 0) return this.#fresh.splice(fresh, 1)[0]!
    this.#misses.push(this.clock.monotonic())
    return this.#watched(this.start())
  }

  /** Takes back a process whose node released it with nothing left of it, or ends it when it has served enough. */
  give(process: BrokerProcess): void {
    if (this.#closed || process.served >= this.limits.reuse || this.limits.usedCap === 0) {
      this.end(process)
      return
    }
    this.#used.push({ process, since: this.clock.monotonic() })
    if (this.#used.length > this.limits.usedCap) this.end(this.#used.shift()!.process)
    this.#restSoon()
  }

  /** Starts what is missing from the processes that should wait. */
  fill(): void {
    this.#misses = this.#misses.filter((at) => at > this.clock.monotonic() - demandWindow)
    const wanted = Math.min(this.limits.warmCap, this.limits.warm + this.#misses.length)
    while (!this.#closed && this.#fresh.length < wanted) this.#fresh.push(this.#watched(this.start()))
  }

  /** No process waits any more; answers those that did. */
  close(): BrokerProcess[] {
    this.#closed = true
    this.#refillCallOff?.()
    this.#restCallOff?.()
    return [...this.#fresh.splice(0), ...this.#used.splice(0).map(({ process }) => process)]
  }

  #watched(process: BrokerProcess): BrokerProcess {
    void process.exited.then(() => {
      const fresh = this.#fresh.indexOf(process)
      if (fresh >= 0) this.#fresh.splice(fresh, 1)
      const used = this.#used.findIndex((entry) => entry.process === process)
      if (used >= 0) this.#used.splice(used, 1)
      if (fresh >= 0) this.#refillSoon()
    })
    return process
  }

  #refillSoon(): void {
    this.#refillCallOff ??= this.clock.after(refillDelay, () => {
      this.#refillCallOff = undefined
      try {
        this.fill()
      } catch {
        // The machine is out of processes: the next launch tries again, and says so to whoever asked.
      }
    })
  }

  #restSoon(): void {
    this.#restCallOff ??= this.clock.after(usedRest, () => {
      this.#restCallOff = undefined
      const rested = this.clock.monotonic() - usedRest
      while (this.#used[0] && this.#used[0].since <= rested) this.end(this.#used.shift()!.process)
      const surplus = this.#fresh.length - this.limits.warm
      const quiet = this.#misses.every((at) => at <= this.clock.monotonic() - demandWindow)
      if (quiet && surplus > 0) for (const process of this.#fresh.splice(0, surplus)) this.end(process)
      if (this.#used.length || this.#fresh.length > this.limits.warm) this.#restSoon()
    })
  }
}
