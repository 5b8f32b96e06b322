import { join } from 'node:path'
import type { Settings } from './config.js'
import { loadKey } from './key-file.js'

/**
 * The key from which nodes' tokens are derived, in `SVC_NODE_TOKEN_KEY_FILE` or `<data>/keys/node-token.key`. Writer and
 * gateway read the same file.
 *
 * @throws Error when the file holds something else.
 */
export const loadNodeTokenKey = (settings: Settings): Buffer =>
  loadKey(settings.SVC_NODE_TOKEN_KEY_FILE ?? join(settings.SVC_DATA_DIR, 'keys', 'node-token.key'))
