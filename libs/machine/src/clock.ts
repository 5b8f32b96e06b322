/** The only file of what works on a machine that asks it for the time. */
export const monotonic = (): number => performance.now()

/** Ms since the epoch, to be held against times that the daemon wrote. */
export const now = (): number => Date.now()

/** Resolves after `ms`, or at once when the signal fires: look at the signal afterwards. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const finish = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, ms)
    signal?.addEventListener('abort', finish, { once: true })
  })

/** Calls back once after `ms`; answers a function that calls it off. */
export const after = (ms: number, callback: () => void): (() => void) => {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}

/** Exponential back-off with jitter: between half of and the whole of `base · 2^attempt`, at most `cap` (ms). */
export const backoff = (attempt: number, base: number, cap: number): number =>
  Math.min(cap, base * 2 ** Math.min(attempt, 20)) * (0.5 + Math.random() / 2)
