import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

/** As many as Postgres itself takes unless told otherwise. */
const ITERATIONS = 4096

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/**
 * What a server keeps of a password (RFC 5802, as Postgres writes it): sent instead of the password itself, so that no
 * log of statements ever holds one. The password must be plain ASCII, which SASLprep leaves as it is.
 */
export const scramVerifier = async (password: string, salt = randomBytes(16)): Promise<string> => {
  const salted = await promisify(pbkdf2)(password, salt, ITERATIONS, 32, 'sha256')
  const stored = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64')
  const server = hmac(salted, 'Server Key').toString('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${stored}:${server}`
}
