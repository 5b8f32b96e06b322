import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
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
    const text = this.#read() ?? this.#create()
    const keys = text
      .split('\n')
      .filter((line) => line.trim())
      .map((line) => credentialKey(Buffer.from(line.trim(), 'base64')))
    if (!keys.length) throw new Error(`${this.path} holds no key`)
    return keys
  }

  #read(): string | undefined {
    try {
      return readFileSync(this.path, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }

  /** Two processes may start at once: `wx` lets one of them make the file, the other reads it. */
  #create(): string {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    const text = `${randomBytes(32).toString('base64')}\n`
    try {
      this.#write(this.path, text, 'wx')
      return text
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      return readFileSync(this.path, 'utf8')
    }
  }

  #replace(keys: readonly CredentialKey[]): void {
    const next = `${this.path}.next`
    this.#write(next, `${keys.map((key) => key.bytes.toString('base64')).join('\n')}\n`, 'w')
    renameSync(next, this.path)
    this.#keys = keys
  }

  #write(path: string, text: string, flag: 'wx' | 'w'): void {
    const file = openSync(path, flag, 0o600)
    try {
      writeSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  }
}
