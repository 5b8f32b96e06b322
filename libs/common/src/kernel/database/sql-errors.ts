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
  readonly constraint?: string | { readonly index?: string }
  readonly meta?: { readonly driverAdapterError?: unknown }
}

/** An error and what it wraps: Prisma puts the driver's own error two levels down. */
const chain = (error: unknown): Caused[] => {
  const links: Caused[] = []
  for (let at = error; at && typeof at === 'object' && links.length < 6; ) {
    const link = at as Caused
    links.push(link)
    at = link.meta?.driverAdapterError ?? link.cause
  }
  return links
}

const isState = (code: unknown): code is string => typeof code === 'string' && !/^P\d{4}$/.test(code)

/** SQLSTATE or socket error code, looked for through Prisma's wrappers too. */
export const sqlState = (error: unknown): string | undefined =>
  chain(error)
    .flatMap((link) => [link.originalCode, link.code])
    .find(isState)

/** Name of the unique constraint or index that refused a row, if that is what happened. */
export const violatedKey = (error: unknown): string | undefined => {
  if (sqlState(error) !== '23505') return undefined
  const names = chain(error).map(({ constraint }) => (typeof constraint === 'string' ? constraint : constraint?.index))
  return names.find((name) => name !== undefined) ?? ''
}

export const isConnectionLoss = (error: unknown): boolean => {
  const state = sqlState(error)
  if (state !== undefined && (noConnection.has(state) || state.startsWith('08'))) return true
  return chain(error).some(({ message }) => typeof message === 'string' && lost.test(message))
}

const neverSent = /is not queryable|Client was closed/

/** Whether a COMMIT that failed like this may have reached the server. */
export const mayHaveCommitted = (error: unknown): boolean =>
  isConnectionLoss(error) && !(error instanceof Error && neverSent.test(error.message))

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
