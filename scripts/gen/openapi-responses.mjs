// The errors of a route, one response a status.
import { gatesOf } from './names.mjs'

export const problemSchema = {
  type: 'object',
  description: 'RFC 9457. `code` is the API; the texts may change. A code adds the fields that it names.',
  required: ['type', 'title', 'status', 'code', 'request_id', 'retryable'],
  properties: {
    type: { type: 'string', format: 'uri-reference' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', examples: ['validation_failed'] },
    request_id: { type: 'string' },
    retryable: { type: 'boolean' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['pointer', 'message'],
        properties: { pointer: { type: 'string', description: 'JSON pointer' }, message: { type: 'string' } },
      },
    },
  },
  additionalProperties: true,
}

/** What every route may answer, by the circumstances that make it possible. */
const common = {
  Malformed: { status: 400, codes: ['malformed_request'] },
  Unauthenticated: { status: 401, codes: ['token_missing', 'token_invalid', 'token_expired', 'token_revoked'] },
  Refused: { status: 403, codes: ['host_forbidden', 'origin_forbidden'] },
  Forbidden: {
    status: 403,
    codes: ['scope_missing', 'owner_required', 'node_token_required', 'host_forbidden', 'origin_forbidden'],
  },
  InProgress: { status: 409, codes: ['idempotency_in_progress'] },
  TooLarge: { status: 413, codes: ['payload_too_large'] },
  Unprocessable: { status: 422, codes: ['validation_failed'] },
  Exhausted: { status: 429, codes: ['rate_limited'] },
  Internal: { status: 500, codes: ['internal'] },
  Unavailable: { status: 503, codes: ['service_unavailable', 'not_leader', 'version_mismatch'] },
  Deadline: { status: 504, codes: ['deadline_exceeded'] },
  Full: { status: 507, codes: ['storage_full'] },
}

export const commonResponses = Object.fromEntries(
  Object.entries(common).map(([name, { codes }]) => [name, response(codes)]),
)

/** Shared responses by reference; a status for which the route adds codes of its own says them all. */
export function responsesOf(operation, { factsOf }) {
  const own = Map.groupBy(operation.errors ?? [], (code) => factsOf(code).status)
  const answers = {}
  for (const name of circumstances(operation)) {
    const { status, codes } = common[name]
    const added = own.get(status)?.filter((code) => !codes.includes(code)) ?? []
    own.delete(status)
    answers[status] = added.length ? response([...added, ...codes]) : { $ref: `#/components/responses/${name}` }
  }
  for (const [status, codes] of own) answers[status] = response(codes)
  return answers
}

function circumstances({ gate, params, query, body, method, idempotency }) {
  const open = gatesOf({ gate }).includes('open')
  const writes = method !== 'GET'
  return [
    body && 'Malformed',
    !open && 'Unauthenticated',
    open ? 'Refused' : 'Forbidden',
    idempotency === 'key' && 'InProgress',
    body && 'TooLarge',
    (params || query || body || idempotency === 'key') && 'Unprocessable',
    'Exhausted',
    'Internal',
    !open && 'Unavailable',
    !open && 'Deadline',
    writes && 'Full',
  ].filter(Boolean)
}

function response(codes) {
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  }
}
