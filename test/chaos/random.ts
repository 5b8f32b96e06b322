/** Numbers that a seed decides, the same on every machine (mulberry32). */
export class Random {
  #state: number

  constructor(...seeds: readonly number[]) {
    this.#state = seeds.reduce((state, seed) => Math.imul(state ^ seed, 0x9e3779b1) ^ (state >>> 15), 0x2545f491)
  }

  /** From 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1))
  }

  pick<T>(items: readonly T[]): T {
    return items[this.between(0, items.length - 1)] as T
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items]
    return items.map(() => left.splice(this.between(0, left.length - 1), 1)[0] as T)
  }
}
