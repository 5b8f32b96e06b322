import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { covers } from '#common/kernel/scopes.js'
import { grantScopes, runtimeVocabulary } from './scope-grant.js'

const owner = ['*']
const code = (grant: () => unknown): { code: string; fields: Record<string, unknown> } => {
  try {
    grant()
  } catch (error) {
    return error as { code: string; fields: Record<string, unknown> }
  }
  throw new Error('it was granted')
}

describe('scopes of a new node', () => {
  it("are those of a run when the owner says nothing, never the owner's own", () => {
    expect(grantScopes(owner, undefined, undefined).sort()).toEqual([...runtimeVocabulary].sort())
  })

  it('are what the parent and the creator both hold when none are asked for', () => {
    expect(grantScopes(owner, ['svc:llm'], undefined)).toEqual(['svc:llm'])
    expect(grantScopes(['svc:memory:read:user'], ['svc:memory:rw:user', 'svc:llm'], undefined)).toEqual([
      'svc:memory:read:user',
    ])
    expect(grantScopes(['svc:schedule'], undefined, undefined)).toEqual(['svc:schedule'])
  })

  it('are those asked for, once each, when they lie within', () => {
    expect(grantScopes(owner, undefined, ['svc:llm', 'svc:llm', 'svc:act'])).toEqual(['svc:act', 'svc:llm'])
    expect(grantScopes(owner, undefined, [])).toEqual([])
    expect(grantScopes(owner, undefined, ['svc:memory:manage:user'])).toEqual(['svc:memory:manage:user'])
  })

  it('outside the parent or the creator are refused, each by its name', () => {
    const grant = () =>
      grantScopes(['svc:llm', 'svc:schedule'], ['svc:llm', 'svc:act'], ['svc:llm', 'svc:act', 'svc:schedule'])
    expect(code(grant)).toMatchObject({
      code: 'scope_exceeds_ceiling',
      fields: { scopes: ['svc:act', 'svc:schedule'] },
    })
  })

  it.each([['*'], ['svc:everything'], ['github:issues'], ['svc:act']])('refuse a list of %s alone', (scope) => {
    expect(code(() => grantScopes(owner, undefined, [scope]))).toMatchObject({ code: 'validation_failed' })
  })

  it('never permit what the creator or the parent does not', () => {
    const known = [
      'svc:llm',
      'svc:schedule',
      'svc:memory:read:user',
      'svc:memory:rw:user',
      'svc:memory:rw:user:notes',
      'svc:memory:manage:user',
    ]
    const list = fc.subarray(known)
    fc.assert(
      fc.property(
        list,
        fc.option(list, { nil: undefined }),
        fc.option(list, { nil: undefined }),
        (creator, parent, asked) => {
          let granted: string[]
          try {
            granted = grantScopes(creator, parent, asked)
          } catch {
            return asked !== undefined
          }
          return granted.every((scope) => covers(creator, scope) && (parent === undefined || covers(parent, scope)))
        },
      ),
    )
  })
})
