import { randomBytes } from 'node:crypto'
import { readOrMakeSecret, writePrivateFile } from '#common/kernel/servers/private-file.js'
import { type CredentialKey, credentialKey } from './credential.cipher.js'

/**
 * The file with the keys of the credentials: base64, one a line, the first one in use, those after it only for rows that
 * an unfinished rotation left behind. It is kept apart from the database and made at the first use.
 */
export class CredentialKeyring {
  #keys: readonly CredentialKey[] | undefined

  constructor(private readonly path: string) {}

  /** The key that new rows are sealed with. @throws Error when the file can't be read or made. */
  current(): CredentialKey {
    this.#keys ??= this.#load()
    return this.#keys[0] as CredentialKey
  }

  /** The key of a row, looked for again in the file when another process has rotated it; undefined when it is lost. */
  find(id: string): CredentialKey | undefined {
    this.#keys ??= this.#load()
    const known = this.#keys.find((key) => key.id === id)
    if (known) return known
    this.#keys = this.#load()
    return this.#keys.find((key) => key.id === id)
  }

  /** Puts a key in front; those before it stay until `forgetOld`. */
  add(key: CredentialKey): void {
    const old = this.#load().filter(({ id }) => id !== key.id)
    this.#replace([key, ...old])
  }

  /** Leaves the key in use alone in the file. */
  forgetOld(): void {
    this.#replace([this.current()])
  }

  #load(): readonly CredentialKey[] {
    const keys = readOrMakeSecret(this.path, () => randomBytes(32).toString('base64'))
      .split('\n')
      .filter((line) => line.trim())
      .map((line) => credentialKey(Buffer.from(line.trim(), 'base64')))
    if (!keys.length) throw new Error(`${this.path} holds no key`)
    return keys
  }

  #replace(keys: readonly CredentialKey[]): void {
    writePrivateFile(this.path, `${keys.map((key) => key.bytes.toString('base64')).join('\n')}\n`)
    this.#keys = keys
  }
}
