/** Kinds of errors: what a status says, whether trying again can help, and how the command ends. */
export type ErrorKind =
  | 'invalid'
  | 'unauthenticated'
  | 'budget'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'gone'
  | 'precondition'
  | 'too_large'
  | 'unprocessable'
  | 'exhausted'
  | 'internal'
  | 'upstream'
  | 'unavailable'
  | 'full'
  | 'deadline'

interface KindFacts {
  readonly status: number
  readonly retryable: boolean
  /** Exit code of the command line for this kind. */
  readonly exit: number
}

export const errorKinds = {
  invalid: { status: 400, retryable: false, exit: 1 },
  unprocessable: { status: 422, retryable: false, exit: 1 },
  unauthenticated: { status: 401, retryable: false, exit: 6 },
  budget: { status: 402, retryable: false, exit: 1 },
  forbidden: { status: 403, retryable: false, exit: 6 },
  not_found: { status: 404, retryable: false, exit: 3 },
  conflict: { status: 409, retryable: false, exit: 4 },
  gone: { status: 410, retryable: false, exit: 3 },
  precondition: { status: 412, retryable: false, exit: 4 },
  too_large: { status: 413, retryable: false, exit: 1 },
  exhausted: { status: 429, retryable: true, exit: 5 },
  internal: { status: 500, retryable: true, exit: 1 },
  upstream: { status: 502, retryable: true, exit: 5 },
  unavailable: { status: 503, retryable: true, exit: 5 },
  deadline: { status: 504, retryable: true, exit: 5 },
  full: { status: 507, retryable: true, exit: 5 },
} as const satisfies Record<ErrorKind, KindFacts>

export interface CodeFacts {
  readonly kind: ErrorKind
  /** Short, for people; stands in `title`. */
  readonly title: string
  /** What the caller can do about it; stands in the documentation and in the command line's answer. */
  readonly remedy: string
  /** Overrides the kind's own answer to "does trying again help". */
  readonly retryable?: boolean
}

export const defineCodes = <const T extends Record<string, CodeFacts>>(codes: T): T => codes
