import { isSvcError, SvcError } from '#common/kernel/errors.js'

interface Text {
  readonly type: string
  readonly text?: string
  readonly call_id?: string
}

/** Whether two items are one piece of the same text. */
const continues = (before: Text | undefined, item: Text): boolean =>
  before !== undefined &&
  before.type === item.type &&
  before.text !== undefined &&
  item.text !== undefined &&
  before.call_id === item.call_id

/** Items that came while a reader was busy, neighbours of one text put together. */
const joined = <T extends Text>(items: readonly T[]): T[] => {
  const result: T[] = []
  for (const item of items) {
    const last = result.at(-1)
    if (continues(last, item)) result[result.length - 1] = { ...item, text: `${last?.text}${item.text}` }
    else result.push(item)
  }
  return result
}

/**
 * The items of one call, kept from the first one on, so that any number of readers can follow it, each at its own pace
 * and from the start. A slow reader holds nobody up: what it missed reaches it in larger pieces.
 */
export class CallBuffer<T extends Text> {
  readonly #items: T[] = []
  #end: { readonly error?: unknown } | undefined
  #wake = Promise.withResolvers<void>()
  #readers = 0

  get readers(): number {
    return this.#readers
  }

  get ended(): boolean {
    return this.#end !== undefined
  }

  push(item: T): void {
    this.#items.push(item)
    this.#stir()
  }

  finish(): void {
    this.#end ??= {}
    this.#stir()
  }

  fail(error: unknown): void {
    this.#end ??= { error }
    this.#stir()
  }

  /**
   * All items, then the end. Leaving the loop, or the signal, only ends the reading.
   *
   * @throws what the call failed with; SvcError client_closed when the signal fires.
   */
  async *read(signal: AbortSignal, onLeave: () => void): AsyncGenerator<T, void, undefined> {
    this.#readers += 1
    const abort = (): void => this.#stir()
    signal.addEventListener('abort', abort, { once: true })
    try {
      for (let at = 0; ; ) {
        signal.throwIfAborted()
        const wake = this.#wake.promise
        const fresh = this.#items.slice(at)
        at += fresh.length
        yield* joined(fresh)
        if (at < this.#items.length) continue
        if (this.#end) {
          if ('error' in this.#end) throw this.#end.error
          return
        }
        if (!signal.aborted) await wake
      }
    } catch (error) {
      throw signal.aborted && !isSvcError(error) ? new SvcError('client_closed') : error
    } finally {
      signal.removeEventListener('abort', abort)
      this.#readers -= 1
      onLeave()
    }
  }

  #stir(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers<void>()
  }
}
