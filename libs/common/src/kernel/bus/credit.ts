import type { Grant } from './codec.js'

/** What a producer may have on its way when the consumer names nothing else. */
export const defaultWindow: Grant = { items: 64, bytes: 256 * 1024 }

/**
 * The producer's side of flow control: what is on its way, and whether more may follow.
 *
 * Open while both counts are below the window, so that an item larger than the whole window can pass alone. What is on
 * its way therefore never exceeds `items`, nor `bytes` by more than one item.
 */
export class CreditWindow {
  #items = 0
  #bytes = 0
  #wake: (() => void) | undefined

  constructor(private readonly window: Grant) {}

  get open(): boolean {
    return this.#items < this.window.items && this.#bytes < this.window.bytes
  }

  get inFlight(): Grant {
    return { items: this.#items, bytes: this.#bytes }
  }

  take(bytes: number): void {
    this.#items += 1
    this.#bytes += bytes
  }

  /** The consumer gives room back. */
  give(grant: Grant): void {
    this.#items = Math.max(0, this.#items - grant.items)
    this.#bytes = Math.max(0, this.#bytes - grant.bytes)
    if (!this.open) return
    this.#wake?.()
    this.#wake = undefined
  }

  /** Resolves once there is room. One producer waits at a time. */
  room(): Promise<void> {
    if (this.open) return Promise.resolve()
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}

/**
 * The consumer's side: adds up what was consumed, and says when to give it back. Half a window at a time keeps the
 * producer running at two messages a window; what is held back is always less than half, so a waiting producer is
 * never left without room.
 */
export class CreditReturn {
  #items = 0
  #bytes = 0

  constructor(private readonly window: Grant) {}

  /** Counts consumed items; the answer is what to give back now, if anything. */
  consume(items: number, bytes: number): Grant | undefined {
    this.#items += items
    this.#bytes += bytes
    if (this.#items * 2 < this.window.items && this.#bytes * 2 < this.window.bytes) return undefined
    const grant = { items: this.#items, bytes: this.#bytes }
    this.#items = 0
    this.#bytes = 0
    return grant
  }
}
