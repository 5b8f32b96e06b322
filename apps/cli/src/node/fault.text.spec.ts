import { describe, expect, it } from '@jest/globals'
import { faultLine, retryLine } from './fault.text.js'

const since = '2026-01-01T00:00:00.000Z'
const retry_at = '2026-01-01T00:10:00.000Z'

describe('the lines of a fault', () => {
  it('say what it is, and when or by what it ends', () => {
    expect(faultLine({ kind: 'rate_limit', message: 'slow down', since })).toBe('rate_limit: slow down')
    expect(retryLine({ kind: 'rate_limit', message: 'm', since, retry_at, tries: 1 })).toBe(
      `at ${retry_at} (failed once since ${since})`,
    )
    expect(retryLine({ kind: 'connection', message: 'm', since, retry_at, held_for: 'provider', tries: 3 })).toBe(
      `held until its provider answers; tried at ${retry_at} in any case (failed 3 times since ${since})`,
    )
    expect(retryLine({ kind: 'auth', message: 'm', since, held_for: 'credential' })).toContain('svc model add')
    expect(retryLine({ kind: 'grant', message: 'm', since, held_for: 'grant' })).toContain('svc app grant')
    expect(retryLine({ kind: 'other', message: 'm', since })).toBeNull()
  })
})
