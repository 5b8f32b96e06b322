export const now = (): number => Date.now()

/** Milliseconds of a clock that never jumps. */
export const monotonic = (): number => performance.now()

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** `5s`, `3m`, `2h`, `4d`: how long ago a time of the daemon is. */
export const ago = (time: string): string => {
  const seconds = Math.max(0, Math.round((now() - Date.parse(time)) / 1000))
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** Asks until the answer is something, at most `ms` long; undefined when it never was. */
export const until = async <T>(
  ms: number,
  ask: () => T | undefined | Promise<T | undefined>,
): Promise<T | undefined> => {
  const end = monotonic() + ms
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (monotonic() > end) return undefined
    await pause(25)
  }
}
