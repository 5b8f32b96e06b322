import { gatesOf } from '#common/contract/define.js'
import { type ErrorCode, factsOf, isErrorCode } from '#common/contract/errors.js'
import type { Shot } from './shot.js'
import type { Silence, WireAnswer } from './wire.js'

/** What any route may answer to a request that it doesn't take. */
const everywhere: readonly ErrorCode[] = ['malformed_request', 'validation_failed', 'not_found']
const closedGates: readonly ErrorCode[] = [
  'scope_missing',
  'owner_required',
  'node_token_required',
  'app_token_required',
  'stale_generation',
]
const lostTokens: readonly ErrorCode[] = ['token_revoked', 'token_invalid', 'token_expired']

const mayRefuse = (shot: Shot, ofOwner: boolean): ReadonlySet<ErrorCode> =>
  new Set([
    ...(shot.codes ?? [...everywhere, ...(shot.entry.errors ?? []), ...(shot.also ?? [])]),
    ...(gatesOf(shot.entry).includes('open') ? [] : closedGates),
    ...(ofOwner && !shot.ofAnybody ? [] : lostTokens),
  ])

/** What speaks against an answer; undefined when it is as the contract has it. */
export const verdictOf = (shot: Shot, answer: WireAnswer | Silence, ofOwner: boolean): string | undefined => {
  if (answer === 'closed' && shot.mayClose) return undefined
  if (typeof answer === 'string') return `no answer: ${answer}`
  return answer.status < 400 ? successFault(shot, answer) : problemFault(shot, answer, ofOwner)
}

const successFault = ({ entry, codes, version }: Shot, { status, headers, body }: WireAnswer): string | undefined => {
  if (codes) return `${status} instead of ${codes.join(' or ')}`
  if (status !== (entry.status ?? 200)) return `${status} instead of ${entry.status ?? 200}`
  if (!headers.get('svc-version') || !headers.get('x-request-id')) return 'no version or no request id'
  if (status === 204 || !headers.get('content-type')?.startsWith('application/json')) return undefined
  if (!entry.response || version) return undefined
  const parsed = entry.response.safeParse(parsedJson(body))
  return parsed.success ? undefined : `an answer outside of the contract: ${JSON.stringify(parsed.error.issues[0])}`
}

const problemFault = (shot: Shot, { status, headers, body }: WireAnswer, ofOwner: boolean): string | undefined => {
  if (headers.get('content-type') !== 'application/problem+json') return `${status} as ${headers.get('content-type')}`
  const problem = parsedJson(body) as Record<string, unknown> | undefined
  const code = problem?.code
  if (!problem || !isErrorCode(code)) return `${status} without a code of the catalogue: ${body.slice(0, 200)}`
  const facts = factsOf(code)
  if (!mayRefuse(shot, ofOwner).has(code)) {
    return `${status} ${code} (${problem.detail})${shot.codes ? ` instead of ${shot.codes.join(' or ')}` : ''}`
  }
  if (status !== facts.status || problem.status !== status) return `${code} with status ${status}`
  if (problem.retryable !== facts.retryable || !problem.title || !problem.type)
    return `${code} lacks what a problem has`
  if (!problem.request_id || problem.request_id !== headers.get('x-request-id')) return `${code} without its request id`
  return headers.get('svc-version') ? undefined : `${code} without a version`
}

const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
