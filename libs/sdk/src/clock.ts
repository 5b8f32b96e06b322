/** Milliseconds of a clock that never jumps. */
export const monotonic = (): number => performance.now()

/** Milliseconds from now until a date as HTTP writes it; undefined for what is no date. */
export const untilHttpDate = (text: string): number | undefined => {
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now())
}

/** Resolves after `ms`; rejects with the signal's reason once it is aborted. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
