import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Settings } from '#common/kernel/config.js'

/** What a TLS server serves with. */
export interface TlsMaterial {
  readonly cert: Buffer
  readonly key: Buffer
  readonly minVersion: 'TLSv1.2'
}

type Files = { readonly cert: string; readonly key: string }

interface Loaded {
  readonly material: TlsMaterial
  /** When the certificate ends (ms since the epoch). */
  readonly expiresAt: number
}

const read = (path: string, what: string): Buffer => {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new Error(`The ${what} ${path} can't be read (${(cause as NodeJS.ErrnoException).code}).`, { cause })
  }
}

const parse = <T>(path: string, what: string, make: () => T): T => {
  try {
    return make()
  } catch (cause) {
    throw new Error(`${path} holds no ${what} in PEM that can be used.`, { cause })
  }
}

/** @throws Error that names the file, and what is wrong with it */
const load = (files: Files): Loaded => {
  const cert = read(files.cert, 'certificate')
  const key = read(files.key, 'key')
  const certificate = parse(files.cert, 'certificate', () => new X509Certificate(cert))
  const privateKey = parse(files.key, 'key without a passphrase', () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(privateKey)) throw new Error(`The key ${files.key} is not that of ${files.cert}.`)
  const material: TlsMaterial = { cert, key, minVersion: 'TLSv1.2' }
  parse(files.cert, 'certificate', () => createSecureContext(material))
  return { material, expiresAt: certificate.validToDate.getTime() }
}

/** Tells one content of a file from the next without reading it; one that can't be looked at by why. */
const stampOf = ({ cert, key }: Files): string =>
  [cert, key]
    .map((path) => {
      try {
        const { ino, size, mtimeMs } = statSync(path)
        return `${ino}:${size}:${mtimeMs}`
      } catch (error) {
        return (error as NodeJS.ErrnoException).code
      }
    })
    .join(' ')

/** The certificate and key that the owner named. What they hold now is taken up while the daemon runs. */
export class TlsIdentity {
  #stamp: string
  #loaded: Loaded
  #fault: string | null = null

  /** @throws Error for files that can't be served with */
  constructor(private readonly files: Files) {
    this.#stamp = stampOf(files)
    this.#loaded = load(files)
  }

  /** @throws Error for one setting without the other, and for files that can't be served with */
  static of({ SVC_TLS_CERT_FILE: cert, SVC_TLS_KEY_FILE: key }: Settings): TlsIdentity | null {
    if (cert === undefined && key === undefined) return null
    if (cert === undefined || key === undefined) {
      throw new Error('TLS needs both SVC_TLS_CERT_FILE and SVC_TLS_KEY_FILE.')
    }
    return new TlsIdentity({ cert, key })
  }

  get material(): TlsMaterial {
    return this.#loaded.material
  }

  /** Why the files' present content is not served, with what it was before. */
  get fault(): string | null {
    return this.#fault
  }

  get expiresAt(): number {
    return this.#loaded.expiresAt
  }

  /**
   * Looks at the files; answers whether there is something new to serve with. Of two files that are replaced one after the
   * other the first makes a pair that doesn't fit: the earlier one stays until the second is there.
   */
  refresh(): boolean {
    const stamp = stampOf(this.files)
    if (stamp === this.#stamp) return false
    this.#stamp = stamp
    try {
      this.#loaded = load(this.files)
      this.#fault = null
      return true
    } catch (error) {
      this.#fault = (error as Error).message
      return false
    }
  }
}
