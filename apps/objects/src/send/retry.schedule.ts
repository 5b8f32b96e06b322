const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** Ms between a try in vain and the next one. */
export const retryDelays: readonly number[] = [
  5 * second,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
]

/** Tries that a delivery has in all. */
export const mostTries = retryDelays.length + 1

/** A retry comes later than its time by up to this part of its delay, so that those that failed together don't return together. */
const spread = 0.1
/** A receiver may ask for this much patience (ms). */
const longestAsked = 24 * hour

/**
 * When a delivery is tried again after so many tries in vain; undefined when no try is left.
 *
 * @param now ms since the epoch
 * @param asked ms for which the receiver asked to be left alone: that long at least, a day at most
 */
export const nextAttempt = (
  tries: number,
  { now, asked = 0, random = Math.random }: { now: number; asked?: number; random?: () => number },
): Date | undefined => {
  const delay = retryDelays[tries - 1]
  if (delay === undefined) return undefined
  return new Date(now + Math.max(delay * (1 + spread * random()), Math.min(asked, longestAsked)))
}

/** Ms that a Retry-After header asks for: seconds, or a date; undefined for neither. */
export const retryAfterOf = (header: string | undefined, now: number): number | undefined => {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * second
  if (!/^[A-Z][a-z]{2}, /.test(text)) return undefined
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
