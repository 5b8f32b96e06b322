import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { DataDirectory } from '#common/kernel/servers/data-directory.js'
import { ensureSecretFile } from '#common/kernel/servers/private-file.js'

/** Where the daemon's own keys stand; the names are those of their settings. */
export interface KeyFiles {
  SVC_CREDENTIALS_KEY_FILE: string
  SVC_NODE_TOKEN_KEY_FILE: string
  SVC_SIGNING_KEY_FILE: string
  SVC_OWNER_TOKEN_FILE: string
}

/**
 * Makes the keys on first use: 32 random bytes in base64, in files of mode 0600 apart from the database. The owner's
 * token is the gateway's to make; only its place is named here.
 */
export function ensureKeys(data: DataDirectory): KeyFiles {
  const key = (name: string): string => {
    const path = join(data.keys, name)
    ensureSecretFile(path, () => randomBytes(32).toString('base64'))
    return path
  }
  return {
    SVC_CREDENTIALS_KEY_FILE: key('credentials.key'),
    SVC_NODE_TOKEN_KEY_FILE: key('node-token.key'),
    SVC_SIGNING_KEY_FILE: key('signing.key'),
    SVC_OWNER_TOKEN_FILE: join(data.path, 'owner.token'),
  }
}
