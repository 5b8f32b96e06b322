import { randomBytes } from 'node:crypto'
import { readOrMakeSecret } from './servers/private-file.js'

/**
 * A key of 32 bytes, which stands in a file in base64 and is made on first use. Services that share one read the same file.
 *
 * @throws Error when the file holds something else.
 */
export const loadKey = (path: string): Buffer => {
  const text = readOrMakeSecret(path, () => randomBytes(32).toString('base64'))
  const key = Buffer.from(text, 'base64')
  if (key.length !== 32) throw new Error(`${path} does not hold 32 bytes in base64`)
  return key
}
