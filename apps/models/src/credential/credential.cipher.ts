import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/** 32 bytes and the name that rows keep of them. */
export interface CredentialKey {
  readonly id: string
  readonly bytes: Buffer
}

export interface Sealed {
  readonly ciphertext: Buffer
  readonly nonce: Buffer
  readonly tag: Buffer
  readonly keyId: string
}

/** @throws Error unless there are exactly 32 bytes. */
export const credentialKey = (bytes: Buffer): CredentialKey => {
  if (bytes.length !== 32) throw new Error('a key for credentials has 32 bytes')
  return { id: createHash('sha256').update('svc credentials key').update(bytes).digest('hex').slice(0, 16), bytes }
}

/** AES-256-GCM; the provider's name is authenticated along, so that a row can't be passed off as another provider's. */
export const seal = (key: CredentialKey, provider: string, text: string): Sealed => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key.bytes, nonce).setAAD(Buffer.from(provider))
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return { ciphertext, nonce, tag: cipher.getAuthTag(), keyId: key.id }
}

/** @throws Error when key, provider or any byte differs from what was sealed. */
export const unseal = (key: CredentialKey, provider: string, sealed: Sealed): string => {
  const decipher = createDecipheriv('aes-256-gcm', key.bytes, sealed.nonce, { authTagLength: 16 })
    .setAAD(Buffer.from(provider))
    .setAuthTag(sealed.tag)
  return Buffer.concat([decipher.update(sealed.ciphertext), decipher.final()]).toString('utf8')
}
