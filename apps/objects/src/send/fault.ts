import { isSvcError } from '#common/kernel/errors.js'

/** Characters of an answer, or of a program's output, that are kept of a try in vain. */
const shownLength = 200

/** What a receiver said, as a line can show it: no control characters, which the database would refuse too. */
const shown = (text: string): string =>
  text
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .toWellFormed()

export const shownHead = (text: string): string => shown([...shown(text)].slice(0, shownLength).join(''))
export const shownTail = (text: string): string => shown([...shown(text)].slice(-shownLength).join(''))

/** What a failure of the network means to whoever looks after the receiver. */
const kinds: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused',
  ECONNRESET: 'The connection was reset',
  EPIPE: 'The connection was reset',
  ENOTFOUND: 'Its name could not be resolved',
  EAI_AGAIN: 'Its name could not be resolved',
  ENETUNREACH: 'There is no way to its network',
  EHOSTUNREACH: 'There is no way to its machine',
  ETIMEDOUT: 'The connection was not answered',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'Its certificate was refused',
  SELF_SIGNED_CERT_IN_CHAIN: 'Its certificate was refused',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'Its certificate was refused',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'Its certificate was refused',
  ERR_TLS_CERT_ALTNAME_INVALID: 'Its certificate was refused',
}

const kindOf = (code: string): string => {
  if (kinds[code]) return kinds[code]
  if (code.startsWith('CERT_')) return 'Its certificate was refused'
  if (/^(ERR_SSL|ERR_TLS|EPROTO)/.test(code)) return 'No secure connection came about'
  return code.startsWith('HPE_') ? 'Its answer is no HTTP' : 'The connection failed'
}

/** Why a request got no answer, in a line for a person. */
export const faultOf = (error: unknown): string => {
  if (isSvcError(error)) return error.message
  // of several addresses that were tried: the last word of each is much the same
  const [first] = error instanceof AggregateError ? error.errors : [error]
  const { code, address, port } = first as NodeJS.ErrnoException & { address?: string; port?: number }
  if (code === undefined) return `The connection failed (${shownHead(String((first as Error)?.message ?? first))}).`
  const where = address === undefined ? '' : `, ${address}${port === undefined ? '' : ` port ${port}`}`
  return `${kindOf(code)} (${code}${where}).`
}
