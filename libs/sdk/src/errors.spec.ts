import { describe, expect, it } from '@jest/globals'
import * as catalogue from '../../common/src/contract/errors.js'
import * as sdk from './errors.js'
import { errorCodes } from './generated/error-codes.js'

const classOf = (kind: string): string =>
  `${kind.replace(/(^|_)(\w)/g, (_, __, letter: string) => letter.toUpperCase())}Error`

describe('errors', () => {
  it('knows exactly the codes of the catalogue', () => {
    expect(Object.keys(errorCodes).sort()).toEqual(Object.keys(catalogue.errorCodes).sort())
  })

  it.each(Object.keys(catalogue.errorCodes) as catalogue.ErrorCode[])('maps %s to the class of its kind', (code) => {
    const { kind, status, retryable, remedy } = catalogue.factsOf(code)
    const error = sdk.errorOf(status, { code, title: 'short', detail: 'long', request_id: 'r', extra: 1 })
    expect(error).toBeInstanceOf(sdk.SvcError)
    expect(error.name).toBe(classOf(kind))
    expect(error).toMatchObject({ code, kind, status, retryable, remedy, requestId: 'r', message: 'long' })
    expect(error.fields.extra).toBe(1)
  })

  it('classes a code that is newer than the client by its status', () => {
    expect(sdk.errorOf(404, { code: 'moon_not_found' })).toMatchObject({
      name: 'NotFoundError',
      code: 'moon_not_found',
    })
    expect(sdk.errorOf(599, {})).toMatchObject({ name: 'InternalError', code: 'http_599', retryable: true })
    expect(sdk.errorOf(418, {})).toMatchObject({ name: 'InvalidError', retryable: false })
  })

  it('gives the fields at fault', () => {
    const errors = [{ pointer: '/prompt', message: 'too long' }]
    expect(sdk.errorOf(422, { code: 'validation_failed', errors }).errors).toEqual(errors)
  })
})
