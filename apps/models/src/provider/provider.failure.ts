import { SvcError } from '#common/kernel/errors.js'
import { scrub } from './scrub.js'

/** Why a provider did not answer; the first five are faults of a node by the same name. */
export type FailureReason =
  | 'rate_limit'
  | 'overloaded'
  | 'connection'
  | 'auth'
  | 'model_not_found'
  | 'context_length'
  | 'quota'
  | 'invalid_request'
  | 'schema_mismatch'
  | 'other'

export interface ProviderFailure {
  readonly reason: FailureReason
  readonly message: string
  readonly upstreamStatus?: number
  readonly retryAfterMs?: number
}

/** What can be read from an error of the AI SDK, of fetch, or of an error event inside a stream, without its class. */
interface Evidence {
  readonly status?: number
  readonly headers: Readonly<Record<string, string>>
  /** Code, type or status word of the provider's own error body. */
  readonly words: string
  readonly message: string
  /** Whether the provider itself spoke: its error body was JSON. */
  readonly spoke: boolean
  /** Code of a socket or of name resolution. */
  readonly network?: string
}

type Loose = Record<string, unknown>

const isObject = (value: unknown): value is Loose => typeof value === 'object' && value !== null
const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

const networkCodes =
  /^(E(CONN|NOTFOUND|AI_AGAIN|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|PROTO)\w*|UND_ERR_\w+|CERT_\w+|DEPTH_ZERO\w+|SELF_SIGNED\w+|UNABLE_TO\w+|ERR_(TLS|SSL)\w+)$/

const chain = (error: unknown): Loose[] => {
  const found: Loose[] = []
  for (let at = error; isObject(at) && found.length < 6 && !found.includes(at); at = at.cause) found.push(at)
  return found
}

const parsed = (body: unknown): unknown => {
  if (typeof body !== 'string') return body
  try {
    return JSON.parse(body)
  } catch {
    return undefined // not the provider's own words: a proxy's page, or nothing
  }
}

/** The error object of a provider's body, wherever that provider puts it. */
const errorBody = (body: unknown): Loose | undefined => {
  const whole = Array.isArray(body) ? (body as unknown[])[0] : body
  if (!isObject(whole)) return undefined
  if (isObject(whole.error)) return whole.error
  if (typeof whole.error === 'string') return { message: whole.error }
  return whole.message === undefined ? undefined : whole
}

const evidenceOf = (error: unknown): Evidence => {
  const causes = chain(error)
  const first = causes[0] ?? {}
  const api = causes.find((one) => 'responseHeaders' in one || 'statusCode' in one || 'responseBody' in one)
  const body = api ? errorBody(parsed(api.responseBody) ?? api.data) : errorBody(error)
  const status = api?.statusCode ?? (isObject(body) && Number.isInteger(body.code) ? body.code : undefined)
  const network = causes.map((one) => text(one.code)).find((code) => networkCodes.test(code))
  const message = text(body?.message) || text(first.message) || (typeof error === 'string' ? error : '')
  return {
    ...(typeof status === 'number' && { status }),
    headers: (api?.responseHeaders as Record<string, string> | undefined) ?? {},
    words: [body?.type, body?.code, body?.status].map(text).join(' '),
    message,
    spoke: body !== undefined,
    ...(network && { network }),
  }
}

/** Milliseconds; the header holds seconds or a date. Undefined without a readable one. */
const retryAfterOf = ({ headers }: Evidence, now: number): number | undefined => {
  const exact = Number(headers['retry-after-ms'])
  if (headers['retry-after-ms'] && Number.isFinite(exact)) return Math.max(0, Math.round(exact))
  const header = headers['retry-after']
  if (!header) return undefined
  const seconds = Number(header)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - now
  return Number.isFinite(ms) ? Math.max(0, Math.round(ms)) : undefined
}

const unknownModel =
  /model_not_found|model not found|not_found_error|unknown model|unexpected model name|invalid model|(no such|not a valid) model|model.{0,200}(does not exist|not exist|is not found|not found|not supported)|models\/\S+ is not found/i
const tooLong =
  /context_length_exceeded|context.?(length|window)|prompt is too long|maximum context|too many (input )?tokens|input token count.{0,40}exceeds|request_too_large/i
const overloaded = /overloaded|unavailable|capacity|server_error|api_error|internal|timeout/i
const rateLimited = /rate.?limit|resource_exhausted|too many requests/i
const quota = /insufficient_quota|billing|credit balance|exceeded your current quota/i
const refusedKey = /authentication|api.?key|permission|unauthorized|invalid_grant|PERMISSION_DENIED|UNAUTHENTICATED/i
const cut =
  /terminated|socket hang up|other side closed|fetch failed|cannot connect to api|premature|ended (early|before|without)|without a finish/i

const reasonOf = (evidence: Evidence): FailureReason => {
  const { status, words, message, spoke, network } = evidence
  const said = `${words} ${message}`
  if (network && (status === undefined || status < 300)) return 'connection'
  if ((status === 400 || status === 404 || status === 403 || status === 422) && spoke && unknownModel.test(said))
    return 'model_not_found'
  if (status === 413 || ((status === 400 || status === undefined) && tooLong.test(said))) return 'context_length'
  if (status === 402 || (spoke && quota.test(said))) return 'quota'
  if (status === 401 || status === 403) return 'auth'
  if (status === 429) return 'rate_limit'
  if (status === 408 || (status !== undefined && status >= 500)) return 'overloaded'
  if (status === 400 && /api.?key/i.test(said)) return 'auth'
  if (status === 400 || status === 422) return 'invalid_request'
  if (status !== undefined && status >= 300) return 'other'
  return reasonWithin(said)
}

/** Of an error event inside a stream, which has no status, or of a connection that broke. */
const reasonWithin = (said: string): FailureReason => {
  if (rateLimited.test(said)) return 'rate_limit'
  if (cut.test(said)) return 'connection'
  if (refusedKey.test(said)) return 'auth'
  if (overloaded.test(said)) return 'overloaded'
  if (unknownModel.test(said)) return 'model_not_found'
  return 'other'
}

const unspoken = (evidence: Evidence): string => {
  const { status, network, message } = evidence
  if (status === 404) return 'nothing is served at this address: check the base URL of the provider'
  return network ? `${message || 'the connection failed'} (${network})` : message || 'it gave no reason'
}

/** @param secrets texts that must not appear in what is told. */
export const failureOf = (error: unknown, now: number, secrets: readonly string[]): ProviderFailure => {
  const evidence = evidenceOf(error)
  const retryAfterMs = retryAfterOf(evidence, now)
  return {
    reason: reasonOf(evidence),
    message: scrub(evidence.spoke ? evidence.message : unspoken(evidence), secrets),
    // a stream that broke had begun with a success
    ...(evidence.status !== undefined && evidence.status >= 300 && { upstreamStatus: evidence.status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/** The error of the catalogue that a failed call of one rung is told as. */
export const errorOf = (failure: ProviderFailure, provider: string, model: string): SvcError => {
  const { reason, message, upstreamStatus, retryAfterMs } = failure
  const fields = {
    provider,
    model,
    reason,
    ...(upstreamStatus !== undefined && { upstream_status: upstreamStatus }),
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
  }
  return reason === 'model_not_found'
    ? new SvcError('model_not_found', `${provider} does not know the model "${model}": ${message}`, fields)
    : new SvcError('model_error', `${provider}/${model}: ${message}`, fields)
}
