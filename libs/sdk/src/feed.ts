import { EventStream, type StreamSource } from './event-stream.js'
import type { PageList } from './page.js'

/** Events that are read live by iterating, or by pages as they are recorded so far. */
export class Feed<T> extends EventStream<T> {
  readonly #stored: () => PageList<T>

  constructor(source: StreamSource, stored: () => PageList<T>) {
    super(source)
    this.#stored = stored
  }

  /** What is recorded up to now, without waiting for more. */
  recorded(): PageList<T> {
    return this.#stored()
  }
}
