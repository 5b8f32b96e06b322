import { type ErrorCode, type ErrorFacts, factsOf, isErrorCode } from '../contract/errors.js'

export interface FieldFault {
  /** JSON pointer into path, query and body taken as one object. */
  readonly pointer: string
  readonly message: string
}

export interface ErrorFields {
  readonly errors?: readonly FieldFault[]
  readonly [field: string]: unknown
}

/** The shape in which an error crosses the bus. */
export interface ErrorWire {
  readonly code: ErrorCode
  readonly message: string
  readonly fields: ErrorFields
}

const marker = Symbol.for('svc.error')

/**
 * The one error class. Compare `code`, never the message; ask `isSvcError`, never `instanceof`, since two copies of this
 * module may meet in one process.
 */
export class SvcError extends Error {
  readonly [marker] = true
  readonly code: ErrorCode
  readonly fields: ErrorFields

  constructor(code: ErrorCode, message?: string, fields: ErrorFields = {}, options?: ErrorOptions) {
    super(message ?? factsOf(code).title, options)
    this.name = 'SvcError'
    this.code = code
    this.fields = fields
  }

  get facts(): ErrorFacts {
    return factsOf(this.code)
  }

  toWire(): ErrorWire {
    return { code: this.code, message: this.message, fields: this.fields }
  }

  /** An error that came over a hop. A code of a newer version than ours becomes `internal`, keeping its text. */
  static fromWire(wire: { code: string; message: string; fields?: ErrorFields }): SvcError {
    return isErrorCode(wire.code)
      ? new SvcError(wire.code, wire.message, wire.fields)
      : new SvcError('internal', wire.message, { ...wire.fields, unknown_code: wire.code })
  }
}

export const isSvcError = (error: unknown): error is SvcError =>
  typeof error === 'object' && error !== null && marker in error

export const hasCode = (error: unknown, ...codes: ErrorCode[]): error is SvcError =>
  isSvcError(error) && codes.includes(error.code)

/** What a caller's aborted signal means: the reason where it is one of our errors, else that the caller went away. */
export const abortedBy = (signal: AbortSignal): SvcError =>
  isSvcError(signal.reason) ? signal.reason : new SvcError('client_closed')
