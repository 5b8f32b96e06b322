import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Settings } from './config.js'
import { readOrMakeSecret } from './servers/private-file.js'

/**
 * The key from which nodes' tokens are derived: 32 bytes in base64, in `SVC_NODE_TOKEN_KEY_FILE` or
 * `<data>/keys/node-token.key`, made on first use. Writer and gateway read the same file.
 *
 * @throws Error when the file holds something else.
 */
export const loadNodeTokenKey = (settings: Settings): Buffer => {
  const path = settings.SVC_NODE_TOKEN_KEY_FILE ?? join(settings.SVC_DATA_DIR, 'keys', 'node-token.key')
  const text = readOrMakeSecret(path, () => randomBytes(32).toString('base64'))
  const key = Buffer.from(text, 'base64')
  if (key.length !== 32) throw new Error(`${path} does not hold 32 bytes in base64`)
  return key
}
