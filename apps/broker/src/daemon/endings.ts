import { SvcError } from '#sdk/errors.js'

/** Why a broker stops serving its node at once. Not a failure: the daemon has decided so. */
export class Ended extends Error {
  constructor(readonly reason: string) {
    super(`the daemon ended this broker: ${reason}`)
  }
}

/** The journal holds something else than this process believes: it must bind again and read it. */
export class JournalMoved extends Error {}

const withoutAccess = new Set(['token_missing', 'token_invalid', 'token_expired', 'token_revoked'])
const ending = new Set([...withoutAccess, 'stale_generation', 'node_token_required', 'not_found'])

/** Whether this answer means that somebody else hosts the node, or nobody any more. */
export const endsBroker = (error: unknown): error is SvcError => error instanceof SvcError && ending.has(error.code)

/** Whether this process may ask nothing any more, of whatever it asks. */
export const endsAccess = (error: unknown): error is SvcError =>
  error instanceof SvcError && withoutAccess.has(error.code)

/** Whether the same request may be answered later: the daemon, or a part of it, is away or full. */
export const mayPass = (error: unknown): error is SvcError =>
  error instanceof SvcError && (error.retryable || error.kind === 'connection' || error.kind === 'timeout')

export const hasCode = (error: unknown, ...codes: string[]): error is SvcError =>
  error instanceof SvcError && codes.includes(error.code)
