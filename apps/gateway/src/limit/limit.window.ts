/** Seconds of the window in which requests are counted. */
export const windowSeconds = 60

/** What one key has used of its window. */
export interface Standing {
  /** Requests that the window allows. */
  readonly quota: number
  readonly remaining: number
  /** ms until the window begins anew. */
  readonly resetMs: number
  readonly over: boolean
}

const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers-11: a policy by its name with quota `q` in a window of `w` seconds,
 * and what is left of it, `r`, for the next `t` seconds. `Retry-After` is rounded up alike, so that it never ends before
 * the window does.
 */
export const limitHeaders = ({ quota, remaining, resetMs }: Standing): Record<string, string> => ({
  'ratelimit-policy': `"token";q=${quota};w=${windowSeconds}`,
  ratelimit: `"token";r=${remaining};t=${seconds(resetMs)}`,
})
