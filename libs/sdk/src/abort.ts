/** An abort signal of one call: the caller's, a time limit and our own reasons in one. */
export interface Limit {
  readonly signal: AbortSignal
  abort(reason: unknown): void
  /** Forgets timer and caller; to be called once the call is over. */
  release(): void
}

/**
 * @param after ms until the signal is aborted with what `reason` makes; no limit without it
 */
export const limited = (caller: AbortSignal | undefined, after?: number, reason?: () => unknown): Limit => {
  const controller = new AbortController()
  const onCaller = () => controller.abort(caller?.reason)
  if (caller?.aborted) onCaller()
  else caller?.addEventListener('abort', onCaller, { once: true })
  const timer = after === undefined ? undefined : setTimeout(() => controller.abort(reason?.()), after)
  return {
    signal: controller.signal,
    abort: (why) => controller.abort(why),
    release: () => {
      clearTimeout(timer)
      caller?.removeEventListener('abort', onCaller)
    },
  }
}
