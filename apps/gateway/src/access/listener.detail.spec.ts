import { describe, expect, it } from '@jest/globals'
import type { Door } from '../listener/door.js'
import type { TlsIdentity } from '../listener/tls.identity.js'
import { detailOf } from './listener.detail.js'

const now = Date.UTC(2026, 0, 1)
const day = 24 * 3_600_000

const said = (changes: { isLoopback?: boolean; tls?: boolean; fault?: string; left?: number }): string | null => {
  const { isLoopback = false, tls = true, fault = null, left = 90 } = changes
  const identity = { fault, expiresAt: now + left * day } as TlsIdentity
  return detailOf({ isLoopback, entrance: { tls } } as Door, tls ? identity : null, now)
}

describe('what the owner is told of a listener that is open', () => {
  it.each([
    ['nothing, where all is well', {}, /^null$/],
    ['nothing, where only this machine reaches it', { isLoopback: true, tls: false }, /^null$/],
    ['that nothing is encrypted', { tls: false }, /unencrypted here.*SVC_TLS_CERT_FILE/],
    [
      'that the files no longer fit',
      { fault: 'They differ.' },
      /^They differ\. The earlier certificate is still served\.$/,
    ],
    ['that the certificate ends soon', { left: 13 }, /^The certificate ends on 2026-01-14\.$/],
    ['that it has ended', { left: -1 }, /^The certificate ended on 2025-12-31: clients refuse it\.$/],
  ])('%s', (_what, changes, text) => expect(String(said(changes))).toMatch(text))
})
