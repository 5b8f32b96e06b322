import { execFileSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'

/** A certificate that signs itself, and its key, as files. */
export interface TestCertificate {
  readonly cert: string
  readonly key: string
}

/** Makes one for `localhost` and 127.0.0.1 in a directory. @param days until it ends */
export const makeCertificate = (directory: string, name: string, days = 90): TestCertificate => {
  const [cert, key] = [join(directory, `${name}.crt`), join(directory, `${name}.key`)]
  execFileSync(
    'openssl',
    [
      ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', `/CN=${name}`],
      ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-days', String(days), '-keyout', key, '-out', cert],
    ].flat(),
    { stdio: 'ignore' },
  )
  return { cert, key }
}

/** Puts one in the place of another, as a tool that renews certificates does: one file after the other. */
export const replaceCertificate = (old: TestCertificate, renewed: TestCertificate): void => {
  copyFileSync(renewed.cert, old.cert)
  copyFileSync(renewed.key, old.key)
}
