import { version } from '#common/kernel/version.js'

/** On every response. Nothing here is a page: no script, no frame, no cache, no guessing of types. */
export const commonHeaders = {
  'svc-version': version,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  vary: 'Origin',
}

/** Where the client's connection is encrypted. It binds the whole name, so that it is short and says nothing of others below. */
export const strictTransport = 'max-age=2592000'
