import type { SvcError } from '#sdk/errors.js'
import { faultOf, type TurnFault } from '../node/fault.js'

/** The turn can't go on, for a reason that its node shows. */
export class TurnFailed extends Error {
  constructor(readonly fault: TurnFault) {
    super(fault.message)
  }
}

/** The provider, or the daemon, refused the conversation for its length. */
export class ContextTooLong extends TurnFailed {}

/**
 * - `wait`: the daemon, or a part of it, is away: the same call is repeated for as long as it takes.
 * - `again`: the provider failed in a way that may pass: a few more attempts.
 * - `fail`: trying again won't help.
 */
export type Verdict =
  | { readonly do: 'wait' | 'again'; readonly delay?: number | undefined; readonly fault: TurnFault }
  | { readonly do: 'fail'; readonly fault: TurnFault; readonly tooLong?: boolean }

/** A provider that wants a longer pause than this (ms) is left to the supervisor, and the process is freed. */
const longestPause = 60_000

const away = new Set([
  'connection_failed',
  'timeout',
  'service_unavailable',
  'not_leader',
  'deadline_exceeded',
  'storage_full',
  'model_call_unknown',
  'idempotency_in_progress',
])

const ofProvider = (error: SvcError): Verdict => {
  const { reason, retry_after_ms } = error.fields as { reason?: string; retry_after_ms?: number }
  const delay = typeof retry_after_ms === 'number' ? retry_after_ms : undefined
  switch (reason) {
    case 'rate_limit':
    case 'overloaded':
    case 'connection': {
      const fault = faultOf(reason, error.message, delay)
      return delay !== undefined && delay > longestPause ? { do: 'fail', fault } : { do: 'again', delay, fault }
    }
    case 'auth':
      return { do: 'fail', fault: faultOf('auth', error.message) }
    case 'model_not_found':
      return { do: 'fail', fault: faultOf('model_not_found', error.message) }
    case 'context_length':
      return { do: 'fail', fault: faultOf('other', error.message), tooLong: true }
    case 'quota':
    case 'invalid_request':
    case 'schema_mismatch':
      return { do: 'fail', fault: faultOf('other', error.message) }
    default:
      return { do: 'again', fault: faultOf('other', error.message) }
  }
}

const withRemedy = (error: SvcError): string => (error.remedy ? `${error.message} ${error.remedy}` : error.message)

/** What a failed model call means for its turn. */
export const verdictOf = (error: SvcError): Verdict => {
  if (error.code === 'model_error') return ofProvider(error)
  if (error.code === 'model_not_found' || error.code === 'model_not_configured') {
    return { do: 'fail', fault: faultOf('model_not_found', withRemedy(error)) }
  }
  if (error.code === 'grant_revoked') return { do: 'fail', fault: faultOf('grant', withRemedy(error)) }
  if (error.code === 'payload_too_large')
    return { do: 'fail', fault: faultOf('other', withRemedy(error)), tooLong: true }
  if (away.has(error.code)) return { do: 'wait', delay: error.retryAfter, fault: faultOf('connection', error.message) }
  if (error.code === 'rate_limited')
    return { do: 'again', delay: error.retryAfter, fault: faultOf('rate_limit', error.message) }
  if (error.retryable || error.kind === 'response') return { do: 'again', fault: faultOf('other', error.message) }
  return { do: 'fail', fault: faultOf('other', withRemedy(error)) }
}
