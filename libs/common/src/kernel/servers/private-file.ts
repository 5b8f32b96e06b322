import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'

/** Replaces a file as a whole, readable by its owner alone: a reader sees the old text or the new, never half. */
export function writePrivateFile(path: string, text: string): void {
  const draft = writeDraft(path, text)
  renameSync(draft, path)
}

/**
 * The text of a secret file, made by `generate` on first use. Two processes that race for it end with the same one.
 * Its mode is put back to 0600 when someone loosened it.
 */
export function ensureSecretFile(path: string, generate: () => string = randomPassword): string {
  const present = readIfPresent(path)
  if (present !== undefined) {
    chmodSync(path, 0o600)
    return present.trim()
  }
  const draft = writeDraft(path, `${generate()}\n`)
  try {
    linkSync(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    unlinkSync(draft)
  }
  return readFileSync(path, 'utf8').trim()
}

/**
 * The text of a secret that may be mounted: one that is there is read as it is, since its mode is then its mounter's to
 * keep; a missing one is made, with its directory, as by `ensureSecretFile`.
 */
export function readOrMakeSecret(path: string, generate: () => string): string {
  const present = readIfPresent(path)
  if (present !== undefined) return present.trim()
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  return ensureSecretFile(path, generate)
}

/** 192 bits in letters, digits, `-` and `_`: safe in a URL and in every server's configuration file. */
export function randomPassword(): string {
  return randomBytes(24).toString('base64url')
}

/** Undefined when there is no such file; any other failure is thrown. */
export function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export function removeIfPresent(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

function writeDraft(path: string, text: string): string {
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  const file = openSync(draft, 'wx', 0o600)
  try {
    writeFileSync(file, text)
    fsyncSync(file)
  } catch (error) {
    unlinkSync(draft)
    throw error
  } finally {
    closeSync(file)
  }
  return draft
}
