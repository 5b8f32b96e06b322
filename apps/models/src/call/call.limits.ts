/** Times in ms. */
export interface CallLimits {
  /** Until the provider says the first word of its answer; thinking models think before it. */
  readonly firstToken: number
  /** Of silence within an answer. */
  readonly idle: number
  /** Calls that wait for a place, at most; more are refused. */
  readonly waiting: number
  /** Calls at once when the config names no limit. */
  readonly concurrent: number
}

export const defaultCallLimits: CallLimits = { firstToken: 180_000, idle: 120_000, waiting: 1000, concurrent: 256 }

/** The limits as a Nest provider's token. */
export const CALL_LIMITS = Symbol('call limits')
