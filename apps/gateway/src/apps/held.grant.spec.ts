import { describe, expect, it } from '@jest/globals'
import type { GrantRecord } from './grant.record.js'
import { sameGrant } from './grant.rules.js'
import { HeldGrant } from './held.grant.js'

const grant = (...scopes: string[]): GrantRecord => ({
  appId: 'app_01jd0000000000000000000000',
  scopes,
  profiles: null,
  status: 'active',
  version: 1,
  updatedAt: 0,
})

// a directory may have a newline in its name
const apart = ['svc:llm', 'svc:memory:rw:user:a', 'svc:schedule']
const inOne = ['svc:llm', 'svc:memory:rw:user:a\nsvc:schedule']

describe('a grant', () => {
  it('holds each list to itself, not to what another one looks like in a row', () => {
    const held = new HeldGrant(grant('svc:llm', 'svc:memory:rw:user', 'svc:schedule'))
    expect([...held.within(apart)].sort()).toEqual(apart)
    expect([...held.within(inOne)].sort()).toEqual(inOne)
  })

  it('is another one when one scope is replaced by two that look like it in a row', () => {
    expect(sameGrant(grant(...apart), grant(...apart))).toBe(true)
    expect(sameGrant(grant(...apart), grant(...inOne))).toBe(false)
  })
})
