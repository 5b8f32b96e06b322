/** Things that wait, taken by turns of those whose they are: who has many waiting holds up nobody who has few. */
export class FairQueue<T> {
  /** In the order of their turns. */
  readonly #waiting = new Map<string, T[]>()
  #size = 0
  #last: string | undefined

  /**
   * @param limit things that may wait
   * @param share of these, of one
   */
  constructor(
    private readonly limit: number,
    private readonly share: number,
  ) {}

  /** Answers false, and takes nothing, when there is no room. */
  add(whose: string, thing: T): boolean {
    const own = this.#waiting.get(whose) ?? []
    if (this.#size >= this.limit || own.length >= this.share) return false
    own.push(thing)
    this.#waiting.set(whose, own)
    this.#size += 1
    return true
  }

  take(): T | undefined {
    const [first, second] = this.#waiting
    if (!first) return undefined
    // who was alone a moment ago had its turn then
    const [whose, own] = second && first[0] === this.#last ? second : first
    this.#last = whose
    this.#waiting.delete(whose)
    const thing = own.shift()
    if (own.length > 0) this.#waiting.set(whose, own)
    this.#size -= 1
    return thing
  }
}
