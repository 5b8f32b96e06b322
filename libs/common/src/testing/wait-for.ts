/** The only file that waits by the clock in tests; everything else waits for what it is about to assert. */

export interface WaitOptions {
  /** Milliseconds until it gives up. Default 20,000: a wait that succeeds costs none of it, however busy the machine. */
  timeout?: number
  /** Milliseconds between two looks. Default 10. */
  interval?: number
  /** Named in the error. */
  what?: string
}

const patience = 20_000

const nap = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Looks at a state until it is there: resolves with the first answer that is neither false, null nor undefined.
 * An error of the look counts as "not yet" and becomes the cause when time runs out.
 *
 * @throws Error after `timeout`, with the last answer and the last error.
 */
export async function waitFor<T>(
  look: () => T | Promise<T>,
  options: WaitOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const { timeout = patience, interval = 10, what = 'the state waited for' } = options
  const until = performance.now() + timeout
  let last: unknown
  let cause: unknown
  do {
    try {
      last = await look()
      cause = undefined
      if (last !== false && last !== null && last !== undefined) return last as Exclude<T, false | null | undefined>
    } catch (error) {
      cause = error
    }
    await nap(interval)
  } while (performance.now() < until)
  throw new Error(`${what} did not come within ${timeout} ms; last: ${JSON.stringify(last)}`, { cause })
}

/**
 * The first `count` items of a stream, or those up to and including the first that `until` accepts; then ends it.
 *
 * @throws Error after `timeout` (default 20,000 ms), with what came so far, or when the stream ends before that.
 */
export async function take<T>(
  stream: AsyncIterable<T>,
  wanted: number | ((item: T) => boolean),
  options: { timeout?: number } = {},
): Promise<T[]> {
  const { timeout = patience } = options
  const iterator = stream[Symbol.asyncIterator]()
  const items: T[] = []
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the stream gave ${describe(items)} in ${timeout} ms`)), timeout)
  })
  try {
    for (;;) {
      if (typeof wanted === 'number' && items.length >= wanted) return items
      const next = await Promise.race([iterator.next(), late])
      if (next.done) throw new Error(`the stream ended after ${describe(items)}`)
      items.push(next.value)
      if (typeof wanted === 'function' && wanted(next.value)) return items
    }
  } finally {
    clearTimeout(timer)
    // Not awaited: a generator that hangs in its own read would hold the test's failure back.
    void Promise.resolve(iterator.return?.()).catch(() => undefined)
  }
}

const describe = (items: unknown[]): string => `${items.length} items: ${JSON.stringify(items)?.slice(0, 2000)}`
