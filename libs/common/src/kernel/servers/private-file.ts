import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'

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
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return draft
}
