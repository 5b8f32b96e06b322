/**
 * The only file that asks the machine for the time, so that a test can put another clock in its place.
 */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds that never run backwards; for durations only. */
  monotonic(): number
  /** Calls back once after `ms`; answers a function that calls it off. The timer never keeps a process alive. */
  after(ms: number, callback: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

export const isoTime = (ms: number): string => new Date(ms).toISOString()

/** Resolves after `ms`, or at once when the signal fires: look at the signal afterwards. */
export const pause = (clock: Clock, ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const finish = (): void => {
      callOff()
      signal?.removeEventListener('abort', finish)
      resolve()
    }
    const callOff = clock.after(ms, finish)
    signal?.addEventListener('abort', finish, { once: true })
  })

/** Resolves when whatever else waits for the event loop had its turn. */
export const othersHadTheirTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

/** Exponential back-off with full jitter: a random wait up to `base · 2^attempt`, at most `cap` (all ms). */
export const backoff = (attempt: number, base: number, cap: number, random: () => number = Math.random): number =>
  random() * Math.min(cap, base * 2 ** Math.min(attempt, 30))

/** The clock as a Nest provider's token. */
export const CLOCK = Symbol('clock')
