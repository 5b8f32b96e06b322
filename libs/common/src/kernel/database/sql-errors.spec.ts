import { describe, expect, it } from '@jest/globals'
import { SvcError } from '../errors.js'
import { isContention, toSvcError } from './sql-errors.js'

const thrown = (code: string, message = 'said by the driver'): Error => Object.assign(new Error(message), { code })
const codeOf = (error: unknown): string | undefined => (toSvcError(error) as { code?: string }).code

describe('what the database throws', () => {
  it.each([
    ['SV001', 'not_leader'],
    ['53100', 'storage_full'],
    ['57014', 'deadline_exceeded'],
    ['57P01', 'service_unavailable'],
    ['57P03', 'service_unavailable'],
    ['08006', 'service_unavailable'],
    ['53300', 'service_unavailable'],
    ['ECONNREFUSED', 'service_unavailable'],
    ['ENOENT', 'service_unavailable'],
    ['40P01', 'service_unavailable'],
    ['22021', 'validation_failed'],
  ])('%s becomes %s', (state, code) => {
    expect(codeOf(thrown(state))).toBe(code)
  })

  it.each([
    'Connection terminated unexpectedly',
    'Client has encountered a connection error and is not queryable',
    'timeout exceeded when trying to connect',
  ])('"%s" is a database that is not there', (message) => {
    expect(codeOf(new Error(message))).toBe('service_unavailable')
  })

  it('is found inside the errors of Prisma', () => {
    const cause = { originalCode: '40001', kind: 'TransactionWriteConflict' }
    const prisma = Object.assign(new Error('conflict'), { code: 'P2034', meta: { driverAdapterError: { cause } } })
    expect(isContention(prisma)).toBe(true)
  })

  it('stays as it is when nothing is known of it', () => {
    const [unknown, ours] = [new Error('else'), new SvcError('not_found')]
    expect(toSvcError(unknown)).toBe(unknown)
    expect(toSvcError(ours)).toBe(ours)
  })
})
