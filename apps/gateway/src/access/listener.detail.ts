import { isoTime } from '#common/kernel/clock.js'
import type { Door } from '../listener/door.js'
import type { TlsIdentity } from '../listener/tls.identity.js'

/** How long before its end a certificate is spoken of (ms). */
const notice = 14 * 24 * 3_600_000

/** What the owner must know of a listener that is open; null when all is well. */
export const detailOf = ({ isLoopback, entrance }: Door, tls: TlsIdentity | null, now: number): string | null => {
  if (isLoopback) return null
  if (!entrance.tls || !tls) {
    return (
      'Tokens and data cross the network unencrypted here, and whoever reads a token is the owner. ' +
      'Set SVC_TLS_CERT_FILE and SVC_TLS_KEY_FILE, or let a proxy of this machine serve TLS.'
    )
  }
  if (tls.fault !== null) return `${tls.fault} The earlier certificate is still served.`
  const left = tls.expiresAt - now
  if (left > notice) return null
  const day = isoTime(tls.expiresAt).slice(0, 10)
  return left > 0 ? `The certificate ends on ${day}.` : `The certificate ended on ${day}: clients refuse it.`
}
