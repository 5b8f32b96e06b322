import { describe, expect, it } from '@jest/globals'
import { fireCauses } from '#common/contract/cron.schema.js'
import { messageOf, spanOf } from './ledger.entry.js'
import type { LedgerRow } from './ledger.repository.js'

const row = (more: Partial<LedgerRow>): LedgerRow =>
  ({ due_at: new Date(0), fired_at: null, error: null, ...more }) as LedgerRow

describe('what an entry says', () => {
  it.each(fireCauses)('is a sentence of its own: %s', (cause) => {
    const message = messageOf(row({ cause }))
    expect(message).toMatch(/^[A-Z].*\.$/)
    const others = fireCauses.filter((other) => other !== cause).map((other) => messageOf(row({ cause: other })))
    expect(others).not.toContain(message)
  })

  it('of one that was refused has the reason', () => {
    const error = { code: 'scope_missing', message: 'The token lacks a scope.' }
    expect(messageOf(row({ cause: 'refused', error }))).toBe('It was refused (scope_missing): The token lacks a scope.')
  })

  it('of one that was given up has what kept it', () => {
    const error = { code: 'service_unavailable', message: 'lifecycle is not there.' }
    expect(messageOf(row({ cause: 'window', error }))).toMatch(/makes up for .*: lifecycle is not there\.$/)
  })

  it('of one that waits has what keeps it', () => {
    const error = { code: 'service_unavailable', message: 'lifecycle is not there.' }
    expect(messageOf(row({ cause: null, error }))).toBe(
      'It could not be begun yet, and is tried again: lifecycle is not there.',
    )
  })
})

describe('a span in words', () => {
  it.each([
    [0, '0 seconds'],
    [1000, '1 second'],
    [59_999, '59 seconds'],
    [60_000, '1 minute'],
    [7_199_000, '1 hour'],
    [2 * 86_400_000, '2 days'],
  ])('%s ms: %s', (ms, text) => expect(spanOf(ms)).toBe(text))
})
