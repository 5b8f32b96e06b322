import { type ErrorKind, errorCodes, errorKinds } from './generated/error-codes.js'

/** Kinds of failures that the client itself notices, besides those that the daemon answers. */
export type ClientErrorKind = 'connection' | 'timeout' | 'response' | 'result'

export interface FieldFault {
  /** JSON pointer to the field at fault. */
  readonly pointer: string
  readonly message: string
}

export interface ErrorFacts {
  readonly code: string
  readonly kind: ErrorKind | ClientErrorKind
  /** HTTP status; 0 where no answer came. */
  readonly status: number
  readonly requestId?: string | undefined
  readonly retryable: boolean
  /** Every field of the problem document, the ones of its code included. */
  readonly fields?: Readonly<Record<string, unknown>>
  /** ms that the daemon asked to wait before the next attempt. */
  readonly retryAfter?: number | undefined
}

/** Base of every error of the daemon. Compare `code`, never the message. */
export class SvcError extends Error {
  readonly code: string
  readonly kind: ErrorKind | ClientErrorKind
  readonly status: number
  readonly requestId: string | undefined
  readonly retryable: boolean
  readonly fields: Readonly<Record<string, unknown>>
  readonly retryAfter: number | undefined

  constructor(message: string, facts: ErrorFacts, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = facts.code
    this.kind = facts.kind
    this.status = facts.status
    this.requestId = facts.requestId
    this.retryable = facts.retryable
    this.fields = facts.fields ?? {}
    this.retryAfter = facts.retryAfter
  }

  /** The fields at fault of a request that doesn't fit. */
  get errors(): readonly FieldFault[] {
    return (this.fields.errors as readonly FieldFault[] | undefined) ?? []
  }

  /** What to do about it. */
  get remedy(): string | undefined {
    return Object.hasOwn(errorCodes, this.code) ? errorCodes[this.code as keyof typeof errorCodes].remedy : undefined
  }
}

export class InvalidError extends SvcError {}
export class UnprocessableError extends SvcError {}
export class UnauthenticatedError extends SvcError {}
export class BudgetError extends SvcError {}
export class ForbiddenError extends SvcError {}
export class NotFoundError extends SvcError {}
export class ConflictError extends SvcError {}
export class GoneError extends SvcError {}
export class PreconditionError extends SvcError {}
export class TooLargeError extends SvcError {}
export class ExhaustedError extends SvcError {}
export class InternalError extends SvcError {}
export class UpstreamError extends SvcError {}
export class UnavailableError extends SvcError {}
export class DeadlineError extends SvcError {}
export class FullError extends SvcError {}

/** The daemon could not be reached, or the connection broke. */
export class ConnectionError extends SvcError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, { code: 'connection_failed', kind: 'connection', status: 0, retryable: true }, options)
  }
}

/** The call's own time limit passed. */
export class TimeoutError extends SvcError {
  constructor(ms: number) {
    super(`no answer within ${ms} ms`, { code: 'timeout', kind: 'timeout', status: 0, retryable: true })
  }
}

/** The answer is not what the contract says: something else listens at this address. */
export class ResponseError extends SvcError {
  constructor(message: string, status: number, options?: ErrorOptions) {
    super(message, { code: 'malformed_response', kind: 'response', status, retryable: false }, options)
  }
}

/** A node ended without a result, or with one that the schema refuses. */
export class ResultError extends SvcError {
  constructor(message: string, fields: Record<string, unknown>, options?: ErrorOptions) {
    super(message, { code: 'no_result', kind: 'result', status: 0, retryable: false, fields }, options)
  }
}

const classes: Record<ErrorKind, typeof SvcError> = {
  invalid: InvalidError,
  unprocessable: UnprocessableError,
  unauthenticated: UnauthenticatedError,
  budget: BudgetError,
  forbidden: ForbiddenError,
  not_found: NotFoundError,
  conflict: ConflictError,
  gone: GoneError,
  precondition: PreconditionError,
  too_large: TooLargeError,
  exhausted: ExhaustedError,
  internal: InternalError,
  upstream: UpstreamError,
  unavailable: UnavailableError,
  deadline: DeadlineError,
  full: FullError,
}

export type Problem = Readonly<Record<string, unknown>>

/**
 * The typed error of a problem document. A code newer than this client keeps its name and is classed by its status.
 */
export const errorOf = (status: number, problem: Problem, requestId?: string, retryAfter?: number): SvcError => {
  const known = typeof problem.code === 'string' && Object.hasOwn(errorCodes, problem.code)
  const facts = known ? errorCodes[problem.code as keyof typeof errorCodes] : undefined
  const kind = facts?.kind ?? kindOf(status)
  const text = [problem.detail, problem.title].find((one): one is string => typeof one === 'string' && one !== '')
  return new classes[kind](text ?? `the daemon answered ${status}`, {
    code: typeof problem.code === 'string' ? problem.code : `http_${status}`,
    kind,
    status,
    requestId: typeof problem.request_id === 'string' ? problem.request_id : requestId,
    retryable: typeof problem.retryable === 'boolean' ? problem.retryable : (facts?.retryable ?? mayPass(status)),
    fields: problem,
    retryAfter,
  })
}

const mayPass = (status: number): boolean => status === 408 || status === 429 || status >= 500

const kindOf = (status: number): ErrorKind => {
  const exact = Object.entries(errorKinds).find(([, code]) => code === status)?.[0]
  if (exact) return exact as ErrorKind
  return status === 408 ? 'deadline' : status >= 500 ? 'internal' : 'invalid'
}

/** Statuses whose answer may pass when the request is repeated; for the others `retryable` is for the caller to weigh. */
export const isWorthRetrying = (error: unknown): error is SvcError =>
  error instanceof SvcError &&
  error.retryable &&
  (error.kind === 'connection' || error.status === 409 || mayPass(error.status))
