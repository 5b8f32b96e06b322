import { isSvcError, SvcError } from '../errors.js'

/** SQLSTATE that the canvas fence raises. */
const FENCED = 'SV001'

const noConnection = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNABORTED',
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '25P03',
  '25P04',
  '25006',
  '53300',
])
const lost =
  /Connection terminated|connection error and is not queryable|Client was closed|timeout exceeded when trying to connect|Cannot use a pool after calling end|Query read timeout/

/** Deadlock, serialization failure, lock not available: the same transaction may well pass a moment later. */
const contention = new Set(['40001', '40P01', '55P03'])

interface Caused {
  readonly code?: unknown
  readonly message?: unknown
  readonly cause?: unknown
  readonly originalCode?: unknown
  readonly meta?: { readonly driverAdapterError?: unknown }
}

const pick = (error: Caused): string | undefined =>
  [error.originalCode, error.code].find((code): code is string => typeof code === 'string' && !/^P\d{4}$/.test(code))

/** SQLSTATE or socket error code, looked for through Prisma's wrappers too. */
export const sqlState = (error: unknown): string | undefined => {
  for (let at = error as Caused | undefined, hops = 0; at && typeof at === 'object' && hops < 6; hops += 1) {
    const code = pick(at)
    if (code) return code
    at = (at.meta?.driverAdapterError ?? at.cause) as Caused | undefined
  }
  return undefined
}

/** Name of the unique constraint or index that refused a row, if that is what happened. */
export const violatedKey = (error: unknown): string | undefined =>
  sqlState(error) === '23505' ? ((error as { constraint?: string }).constraint ?? '') : undefined

export const isConnectionLoss = (error: unknown): boolean => {
  const state = sqlState(error)
  if (state !== undefined && (noConnection.has(state) || state.startsWith('08'))) return true
  return error instanceof Error && lost.test(error.message)
}

export const isContention = (error: unknown): boolean => contention.has(sqlState(error) ?? '')

/** Said by the server itself, so that the transaction is known to be undone. */
export const isRefusal = (error: unknown): boolean =>
  (error as { severity?: unknown } | undefined)?.severity !== undefined

/** Follows another error of the same transaction and says nothing itself. */
export const isAftermath = (error: unknown): boolean => sqlState(error) === '25P02'

/** The catalogue's error for what the database threw; anything that it doesn't know comes back unchanged. */
export const toSvcError = (error: unknown): unknown => {
  if (isSvcError(error)) return error
  const state = sqlState(error)
  const options = { cause: error }
  if (state === FENCED) return new SvcError('not_leader', undefined, {}, options)
  if (state === '53100' || state === 'ENOSPC') return new SvcError('storage_full', undefined, {}, options)
  if (state === '57014') return new SvcError('deadline_exceeded', 'A statement ran longer than it may.', {}, options)
  if (isContention(error)) {
    return new SvcError(
      'service_unavailable',
      'The database is too busy with this resource.',
      { service: 'database' },
      options,
    )
  }
  if (isConnectionLoss(error) || state === '53200')
    return new SvcError('service_unavailable', 'The database is not there.', { service: 'database' }, options)
  if (state === '22021' || state === '22P05') {
    return new SvcError('validation_failed', 'Text may not hold the character U+0000.', {}, options)
  }
  return error
}
