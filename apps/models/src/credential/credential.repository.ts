import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { Sealed } from './credential.cipher.js'
import type { CredentialMaterial } from './credential.material.js'

/** A credential as it is stored. Times are milliseconds since the epoch. */
export interface StoredCredential {
  readonly provider: string
  readonly kind: CredentialMaterial['kind']
  readonly label: string | null
  readonly lastFour: string | null
  readonly sealed: Sealed
  readonly createdAt: number
  readonly updatedAt: number
}

interface Row {
  provider: string
  kind: CredentialMaterial['kind']
  label: string | null
  last_four: string | null
  ciphertext: Buffer
  nonce: Buffer
  tag: Buffer
  key_id: string
  created_at: Date
  updated_at: Date
}

const COLUMNS = 'provider, kind, label, last_four, ciphertext, nonce, tag, key_id, created_at, updated_at'

const toCredential = (row: Row): StoredCredential => ({
  provider: row.provider,
  kind: row.kind,
  label: row.label,
  lastFour: row.last_four,
  sealed: { ciphertext: row.ciphertext, nonce: row.nonce, tag: row.tag, keyId: row.key_id },
  createdAt: row.created_at.getTime(),
  updatedAt: row.updated_at.getTime(),
})

export class CredentialRepository {
  async all(reader: Reader): Promise<StoredCredential[]> {
    const rows = await reader.query<Row>(`SELECT ${COLUMNS} FROM models.credentials ORDER BY provider`)
    return rows.map(toCredential)
  }

  /** All of them, held against every other writer until commit. */
  async lockAll(tx: Tx): Promise<StoredCredential[]> {
    const rows = await tx.query<Row>(`SELECT ${COLUMNS} FROM models.credentials ORDER BY provider FOR UPDATE`)
    return rows.map(toCredential)
  }

  /** Installs or replaces; the time of the first installation stays. Its new time is always later than the old one. */
  async put(tx: Tx, credential: Omit<StoredCredential, 'createdAt'>): Promise<StoredCredential> {
    const { provider, kind, label, lastFour, sealed, updatedAt } = credential
    const [row] = await tx.query<Row>(
      `INSERT INTO models.credentials AS old (${COLUMNS}, health) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, '{}')
       ON CONFLICT (provider) DO UPDATE SET kind = excluded.kind, label = excluded.label, last_four = excluded.last_four,
         ciphertext = excluded.ciphertext, nonce = excluded.nonce, tag = excluded.tag, key_id = excluded.key_id,
         updated_at = greatest(excluded.updated_at, old.updated_at + interval '1 ms')
       RETURNING ${COLUMNS}`,
      [provider, kind, label, lastFour, sealed.ciphertext, sealed.nonce, sealed.tag, sealed.keyId, new Date(updatedAt)],
    )
    return toCredential(row as Row)
  }

  /** Puts the same material under another key; to its owner nothing has changed. */
  reseal(tx: Tx, provider: string, sealed: Sealed): void {
    tx.send('UPDATE models.credentials SET ciphertext = $2, nonce = $3, tag = $4, key_id = $5 WHERE provider = $1', [
      provider,
      sealed.ciphertext,
      sealed.nonce,
      sealed.tag,
      sealed.keyId,
    ])
  }

  /** Answers whether there was one. */
  async remove(tx: Tx, provider: string): Promise<boolean> {
    return (await tx.count('DELETE FROM models.credentials WHERE provider = $1', [provider])) > 0
  }
}
