import { describe, expect, it } from '@jest/globals'
import { fireStatuses } from '#common/contract/cron.schema.js'
import { ledgerOf } from './fire.ledger.js'

describe('what a firing is in the ledger', () => {
  it('is nothing while it goes as planned', () => {
    for (const status of ['queued', 'starting', 'running', 'succeeded'] as const)
      expect(ledgerOf({ status, cause: null, attempts: 1 })).toBeNull()
  })

  it('waits when it could not be started at its first try, or is made up for and not begun yet', () => {
    expect(ledgerOf({ status: 'starting', cause: null, attempts: 2 })).toBe('waiting')
    expect(ledgerOf({ status: 'starting', cause: 'late', attempts: 1 })).toBe('waiting')
    expect(ledgerOf({ status: 'queued', cause: 'late', attempts: 0 })).toBe('waiting')
  })

  it('is late when it began too late, however it went on', () => {
    expect(ledgerOf({ status: 'running', cause: 'late', attempts: 1 })).toBe('late')
    expect(ledgerOf({ status: 'succeeded', cause: 'late', attempts: 1 })).toBe('late')
    expect(ledgerOf({ status: 'failed', cause: 'work_failed', attempts: 1 })).toBe('failed')
  })

  it('is there for every other end', () => {
    const quiet = new Set(['queued', 'starting', 'running', 'succeeded'])
    for (const status of fireStatuses.filter((one) => !quiet.has(one)))
      expect(ledgerOf({ status, cause: null, attempts: 1 })).not.toBeNull()
    expect(ledgerOf({ status: 'canceled', cause: 'cron_ended', attempts: 0 })).toBe('omitted')
    expect(ledgerOf({ status: 'canceled', cause: 'work_canceled', attempts: 1 })).toBe('failed')
  })
})
