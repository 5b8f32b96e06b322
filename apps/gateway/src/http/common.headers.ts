import { version } from '#common/kernel/version.js'

/** Nothing here is a page: no script, no frame, no cache, no guessing of types. */
const plain: Readonly<Record<string, string>> = {
  'svc-version': version,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  vary: 'Origin',
}

/** It binds a whole name with all its ports: for a month only, and not the names below it. */
const secured = { ...plain, 'strict-transport-security': 'max-age=2592000' }

/** Headers of every response, refusals too. @param secure whether the client's connection is encrypted */
export const commonHeaders = (secure: boolean): Readonly<Record<string, string>> => (secure ? secured : plain)
