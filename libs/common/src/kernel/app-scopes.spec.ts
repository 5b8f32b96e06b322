import { describe, expect, it } from '@jest/globals'
import { appScopes, forApp, scopeForms } from './app-scopes.js'
import { isSvcError, type SvcError } from './errors.js'

const app = 'app_01jd0000000000000000000000'

const refusalOf = (list: string[]): SvcError => {
  try {
    appScopes(list, app)
  } catch (error) {
    if (isSvcError(error)) return error
  }
  throw new Error(`${list.join()} was accepted`)
}

describe('scopes asked for an app', () => {
  it('mean its own documents where no app is named', () => {
    expect(appScopes(['svc:memory:read:app', 'svc:llm'], app)).toEqual(['svc:llm', `svc:memory:read:app:${app}`])
    expect(forApp(['svc:memory:rw:app', 'svc:memory:rw:app:other'], app)).toEqual([
      `svc:memory:rw:app:${app}`,
      'svc:memory:rw:app:other',
    ])
  })

  it.each(['ask', 'act', 'schedule', 'memory:read', 'memory:write', 'llm', '*', 'svc:files:rw:app', 'svc:unknown', ''])(
    'are refused with what is accepted: %j',
    (text) => {
      const { code, message, fields } = refusalOf(['svc:llm', text])
      expect(code).toBe('validation_failed')
      expect(fields.errors).toEqual([{ pointer: '/scopes/1', message: expect.stringContaining(`"${text}"`) }])
      expect(fields.accepted).toEqual(scopeForms)
      for (const form of scopeForms) expect(message).toContain(form)
    },
  )

  it('are refused all at once', () => {
    expect(refusalOf(['ask', 'svc:llm', 'act']).fields.errors?.map(({ pointer }) => pointer)).toEqual([
      '/scopes/0',
      '/scopes/2',
    ])
  })

  it('hold svc:act only with svc:llm', () => {
    expect(refusalOf(['svc:act']).message).toBe('svc:act requires svc:llm')
    expect(appScopes(['svc:llm', 'svc:act'], app)).toEqual(['svc:act', 'svc:llm'])
  })

  it('may be none', () => expect(appScopes([], app)).toEqual([]))
})
