import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Settings } from './config.js'
import { ensureSecretFile, readIfPresent } from './servers/private-file.js'

/**
 * The key from which nodes' tokens are derived: 32 bytes in base64, in `SVC_NODE_TOKEN_KEY_FILE` or
 * `<data>/keys/node-token.key`, made on first use. Writer and gateway read the same file.
 *
 * @throws Error when the file holds something else.
 */
export const loadNodeTokenKey = (settings: Settings): Buffer => {
  const path = settings.SVC_NODE_TOKEN_KEY_FILE ?? join(settings.SVC_DATA_DIR, 'keys', 'node-token.key')
  const key = Buffer.from(readIfPresent(path)?.trim() ?? make(path), 'base64')
  if (key.length !== 32) throw new Error(`${path} does not hold 32 bytes in base64`)
  return key
}

const make = (path: string): string => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return ensureSecretFile(path, () => randomBytes(32).toString('base64'))
}
