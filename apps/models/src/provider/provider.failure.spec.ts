import { APICallError } from '@ai-sdk/provider'
import { describe, expect, it } from '@jest/globals'
import { errorOf, failureOf } from './provider.failure.js'
import { scrub } from './scrub.js'

const answered = (statusCode: number, body: unknown, responseHeaders: Record<string, string> = {}) =>
  new APICallError({
    message: 'the message of the SDK',
    url: 'https://provider/v1',
    requestBodyValues: { secret: 'conversation' },
    statusCode,
    responseHeaders,
    responseBody: typeof body === 'string' ? body : JSON.stringify(body),
  })
const broken = (code: string) =>
  new APICallError({
    message: `Cannot connect to API: ${code}`,
    url: 'u',
    requestBodyValues: {},
    cause: Object.assign(new Error(code), { code }),
  })
const of = (error: unknown) => failureOf(error, 1_000_000, [])

describe('why a provider did not answer', () => {
  it.each([
    [
      'openai',
      429,
      { error: { message: 'Rate limit reached', type: 'requests', code: 'rate_limit_exceeded' } },
      'rate_limit',
    ],
    [
      'openai without money',
      429,
      { error: { message: 'You exceeded your current quota', code: 'insufficient_quota' } },
      'quota',
    ],
    ['openai wrong key', 401, { error: { message: 'Incorrect API key provided', code: 'invalid_api_key' } }, 'auth'],
    [
      'openai wrong model',
      404,
      { error: { message: 'The model `gpt-x` does not exist', code: 'model_not_found' } },
      'model_not_found',
    ],
    [
      'openai model not allowed',
      403,
      { error: { message: 'Project does not have access to model', code: 'model_not_found' } },
      'model_not_found',
    ],
    [
      'openai too long',
      400,
      { error: { message: 'Your input exceeds the context window', code: 'context_length_exceeded' } },
      'context_length',
    ],
    [
      'openai wrong field',
      400,
      { error: { message: 'Unsupported value: temperature', code: 'unsupported_value' } },
      'invalid_request',
    ],
    [
      'anthropic overloaded',
      529,
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      'overloaded',
    ],
    [
      'anthropic wrong model',
      404,
      { type: 'error', error: { type: 'not_found_error', message: 'model: claude-x' } },
      'model_not_found',
    ],
    [
      'anthropic too long',
      400,
      { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens' } },
      'context_length',
    ],
    ['anthropic without money', 400, { type: 'error', error: { message: 'Your credit balance is too low' } }, 'quota'],
    [
      'google busy',
      503,
      { error: { code: 503, status: 'UNAVAILABLE', message: 'The model is overloaded.' } },
      'overloaded',
    ],
    [
      'google rate limit',
      429,
      { error: { code: 429, status: 'RESOURCE_EXHAUSTED', message: 'Resource exhausted' } },
      'rate_limit',
    ],
    [
      'google wrong key',
      400,
      { error: { code: 400, status: 'INVALID_ARGUMENT', message: 'API key not valid.' } },
      'auth',
    ],
    [
      'google wrong model',
      404,
      { error: { code: 404, status: 'NOT_FOUND', message: 'models/x is not found for API version v1beta' } },
      'model_not_found',
    ],
    ['ollama wrong model', 404, { error: { message: 'model "x" not found, try pulling it first' } }, 'model_not_found'],
    [
      'vllm wrong model',
      404,
      { object: 'error', message: 'The model `x` does not exist.', type: 'NotFoundError' },
      'model_not_found',
    ],
    ['a wrong path', 404, '404 page not found', 'other'],
    ['a gateway', 502, '<html>bad gateway</html>', 'overloaded'],
  ])('%s: %i', (_name, status, body, reason) => {
    expect(of(answered(status, body))).toMatchObject({ reason, upstreamStatus: status })
  })

  it.each(['ECONNREFUSED', 'ENOTFOUND', 'ECONNRESET', 'UND_ERR_SOCKET', 'EAI_AGAIN', 'CERT_HAS_EXPIRED'])(
    '%s',
    (code) => {
      expect(of(broken(code))).toMatchObject({ reason: 'connection', message: expect.stringContaining(code) })
    },
  )

  it.each([
    [{ type: 'overloaded_error', message: 'Overloaded' }, 'overloaded'],
    [{ error: { type: 'server_error', message: 'The server had an error' } }, 'overloaded'],
    [{ error: { code: 'rate_limit_exceeded', message: 'Rate limit' } }, 'rate_limit'],
    [new Error('Response stream ended without a finish reason.'), 'connection'],
    [new TypeError('terminated'), 'connection'],
    ['something odd', 'other'],
    [undefined, 'other'],
  ])('an error inside a stream: %j', (error, reason) => {
    expect(of(error)).toMatchObject({ reason })
  })

  it('reads the time to wait as seconds, milliseconds or a date', () => {
    const wait = (headers: Record<string, string>) => of(answered(429, {}, headers)).retryAfterMs
    expect(wait({ 'retry-after': '12' })).toBe(12_000)
    expect(wait({ 'retry-after': '12', 'retry-after-ms': '150' })).toBe(150)
    expect(wait({ 'retry-after': new Date(1_005_000).toUTCString() })).toBe(5000)
    expect(wait({ 'retry-after': 'soon' })).toBeUndefined()
    expect(wait({})).toBeUndefined()
  })

  it('points at the base URL when nothing is served there', () => {
    expect(of(answered(404, 'not here')).message).toContain('check the base URL')
  })
})

describe('the error that is told', () => {
  it('names provider, model and reason, and nothing of the request', () => {
    const failure = failureOf(answered(429, { error: { message: 'slow down' } }, { 'retry-after': '2' }), 0, [])
    const error = errorOf(failure, 'openai', 'gpt-5.4')
    expect(error.toWire()).toEqual({
      code: 'model_error',
      message: 'openai/gpt-5.4: slow down',
      fields: {
        provider: 'openai',
        model: 'gpt-5.4',
        reason: 'rate_limit',
        upstream_status: 429,
        retry_after_ms: 2000,
      },
    })
  })

  it('holds no secret, known or recognisable', () => {
    const text =
      'key my-own-secret, sk-abc123456, Bearer abcdefghijkl, AIzaSyA1234567890, https://u:p@host/?key=zzz&x=1 svc_own_abc_0123456789012345678901234'
    const clean = scrub(text, ['my-own-secret'])
    expect(clean).toBe('key [secret], [secret], [secret], [secret], https:[secret]host/?key=[secret]&x=1 [secret]')
    expect(scrub('x'.repeat(5000)).length).toBeLessThan(1010)
  })
})
