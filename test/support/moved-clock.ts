import { type Clock, systemClock } from '../../libs/common/src/kernel/clock.js'

interface Waiting {
  readonly at: number
  readonly callback: () => void
  callOff: () => void
}

/** Goes as the machine's clock does, and jumps ahead when a test says so: what has become due by then is called at once. */
export class MovedClock implements Clock {
  readonly #waiting = new Set<Waiting>()
  #ahead = 0

  now(): number {
    return systemClock.now() + this.#ahead
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#ahead
  }

  after(ms: number, callback: () => void): () => void {
    const entry: Waiting = { at: this.monotonic() + ms, callback, callOff: () => undefined }
    this.#waiting.add(entry)
    this.#arm(entry)
    return () => this.#drop(entry)
  }

  advance(ms: number): void {
    this.#ahead += ms
    const due = [...this.#waiting].sort((a, b) => a.at - b.at)
    for (const entry of due) {
      entry.callOff()
      if (entry.at > this.monotonic()) this.#arm(entry)
      else this.#run(entry)
    }
  }

  /** To a moment ahead (ms since the epoch). */
  moveTo(time: number): void {
    this.advance(time - this.now())
  }

  #arm(entry: Waiting): void {
    entry.callOff = systemClock.after(Math.max(0, entry.at - this.monotonic()), () => this.#run(entry))
  }

  #run(entry: Waiting): void {
    // called off by one that was due before it
    if (!this.#waiting.delete(entry)) return
    entry.callback()
  }

  #drop(entry: Waiting): void {
    entry.callOff()
    this.#waiting.delete(entry)
  }
}
