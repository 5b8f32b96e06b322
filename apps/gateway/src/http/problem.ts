import { type ErrorCode, factsOf } from '#common/contract/errors.js'
import { isSvcError, SvcError } from '#common/kernel/errors.js'

export interface Problem {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

/** Members that a field of an error can't overwrite. */
const reserved = new Set(['type', 'title', 'status', 'detail', 'code', 'request_id', 'retryable'])

/** Text inside a quoted parameter of a header. */
const quoted = (text: string): string => `"${text.replace(/[^\x20-\x7e]/g, ' ').replace(/["\\]/g, "'")}"`

const bearerErrors: Partial<Record<ErrorCode, string>> = {
  token_invalid: 'invalid_token',
  token_expired: 'invalid_token',
  token_revoked: 'invalid_token',
  scope_missing: 'insufficient_scope',
  owner_required: 'insufficient_scope',
  node_token_required: 'insufficient_scope',
  scope_exceeds_ceiling: 'insufficient_scope',
}

/** RFC 6750: what a bearer of a token is told. A missing token is told nothing but the scheme. */
const challengeOf = (error: SvcError): string => {
  const code = bearerErrors[error.code]
  const scope = error.fields.scope
  return [
    'Bearer realm="svc"',
    ...(code ? [`error="${code}"`, `error_description=${quoted(error.facts.title)}`] : []),
    ...(typeof scope === 'string' ? [`scope=${quoted(scope)}`] : []),
  ].join(', ')
}

const headersOf = (error: SvcError): Record<string, string> => {
  const { status } = error.facts
  const wait = error.fields.retry_after_ms
  return {
    'content-type': 'application/problem+json',
    ...((status === 401 || status === 403) && { 'www-authenticate': challengeOf(error) }),
    ...(typeof wait === 'number' && { 'retry-after': String(Math.max(1, Math.ceil(wait / 1000))) }),
  }
}

/**
 * An error as RFC 9457 says it. Only our own errors carry their text; any other is `internal` and tells nothing of its
 * cause.
 */
export const problemOf = (thrown: unknown, requestId: string): Problem => {
  const error = isSvcError(thrown) ? thrown : new SvcError('internal')
  const { status, title, retryable } = factsOf(error.code)
  const fields = Object.entries(error.fields).filter(([name]) => !reserved.has(name))
  return {
    status,
    headers: headersOf(error),
    body: {
      type: `urn:svc:error:${error.code}`,
      title,
      status,
      detail: error.message,
      code: error.code,
      request_id: requestId,
      retryable,
      ...Object.fromEntries(fields),
    },
  }
}

const byStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'malformed_request',
  404: 'route_not_found',
  408: 'deadline_exceeded',
  413: 'payload_too_large',
  414: 'headers_too_large',
  415: 'malformed_request',
  431: 'headers_too_large',
}

/** What the HTTP framework refuses by itself, as one of our errors; anything else stays what it is. */
export const ownError = (thrown: unknown): unknown => {
  if (isSvcError(thrown) || typeof thrown !== 'object' || thrown === null) return thrown
  const { statusCode, status } = thrown as { statusCode?: unknown; status?: unknown }
  const code = byStatus[Number(statusCode ?? status)]
  return code ? new SvcError(code) : thrown
}
