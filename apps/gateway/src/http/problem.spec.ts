import { describe, expect, it } from '@jest/globals'
import { type ErrorCode, errorCodes, factsOf } from '#common/contract/errors.js'
import { SvcError } from '#common/kernel/errors.js'
import { ownError, problemOf } from './problem.js'

describe('a problem document', () => {
  it.each(Object.keys(errorCodes) as ErrorCode[])('of %s has the status and the retry of its kind', (code) => {
    const { status, headers, body } = problemOf(new SvcError(code, 'why'), 'r1')
    const facts = factsOf(code)
    expect(status).toBe(facts.status)
    expect(body).toEqual({
      type: `urn:svc:error:${code}`,
      title: facts.title,
      status,
      detail: 'why',
      code,
      request_id: 'r1',
      retryable: facts.retryable,
    })
    expect('www-authenticate' in headers).toBe(status === 401 || status === 403)
  })

  it('carries the fields of its error, which can’t replace its own members', () => {
    const { body } = problemOf(
      new SvcError('scope_missing', undefined, { scope: 'svc:act', status: 200, code: 'ok' }),
      'r1',
    )
    expect(body).toMatchObject({ scope: 'svc:act', status: 403, code: 'scope_missing' })
  })

  it('tells nothing of an error that is not ours', () => {
    const { status, body } = problemOf(new Error('password=hunter2 at /srv/x.ts:1'), 'r1')
    expect(status).toBe(500)
    expect(JSON.stringify(body)).not.toMatch(/hunter2|srv/)
  })

  it('names the missing scope to the bearer, in a header that can’t be broken out of', () => {
    const { headers } = problemOf(new SvcError('scope_missing', undefined, { scope: 'svc:act"\r\nx: y' }), 'r1')
    expect(headers['www-authenticate']).toContain('error="insufficient_scope"')
    expect(headers['www-authenticate']).toMatch(/scope="svc:act' {2}x: y"$/)
  })

  it('says in whole seconds when to come back', () => {
    expect(
      problemOf(new SvcError('rate_limited', undefined, { retry_after_ms: 1200 }), 'r').headers['retry-after'],
    ).toBe('2')
  })
})

describe('what the framework refuses', () => {
  it.each([
    [404, 'route_not_found'],
    [400, 'malformed_request'],
    [415, 'malformed_request'],
    [413, 'payload_too_large'],
    [431, 'headers_too_large'],
  ])('with %i is %s', (statusCode, code) => expect(ownError({ statusCode })).toMatchObject({ code }))

  it('without a status stays unknown', () => {
    const error = new Error('x')
    expect(ownError(error)).toBe(error)
  })
})
