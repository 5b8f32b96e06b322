export interface TailMessage<T> {
  readonly subject: string
  readonly payload: T
}

/** Unread messages that a tail keeps. */
const capacity = 1024

/** The live tail as an iterable, for one reader. A slow reader loses the oldest messages, never the process its memory. */
export class Tail<T> implements AsyncIterableIterator<TailMessage<T>> {
  readonly #unread: TailMessage<T>[] = []
  readonly #stop: () => void
  #reader: ((step: IteratorResult<TailMessage<T>>) => void) | undefined
  #over = false
  #dropped = 0

  /**
   * @param follow starts the subscription and answers how to stop it.
   * @param onOverflow called at the first loss.
   */
  constructor(
    follow: (hand: (message: TailMessage<T>) => void) => () => void,
    private readonly onOverflow: () => void,
  ) {
    this.#stop = follow((message) => this.#receive(message))
  }

  /** Messages lost since the start because the reader was too slow. */
  get dropped(): number {
    return this.#dropped
  }

  next(): Promise<IteratorResult<TailMessage<T>>> {
    const message = this.#unread.shift()
    if (message) return Promise.resolve({ value: message, done: false })
    if (this.#over) return Promise.resolve({ value: undefined, done: true })
    return new Promise((resolve) => {
      this.#reader = resolve
    })
  }

  return(): Promise<IteratorResult<TailMessage<T>>> {
    this.#over = true
    this.#unread.length = 0
    this.#stop()
    this.#reader?.({ value: undefined, done: true })
    this.#reader = undefined
    return Promise.resolve({ value: undefined, done: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #receive(message: TailMessage<T>): void {
    if (this.#over) return
    if (this.#reader) {
      this.#reader({ value: message, done: false })
      this.#reader = undefined
      return
    }
    this.#unread.push(message)
    if (this.#unread.length <= capacity) return
    this.#unread.shift()
    this.#dropped += 1
    if (this.#dropped === 1) this.onOverflow()
  }
}
