import { modelConfigDocument } from '#common/contract/index.js'
import { json } from '#common/kernel/database/column-types.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { VersionedConfig } from './config.rules.js'

interface Row {
  version: number
  document: unknown
  updated_at: Date
}

const toConfig = (row: Row): VersionedConfig => ({
  version: row.version,
  document: modelConfigDocument.parse(row.document),
  updatedAt: row.updated_at.getTime(),
})

const READ = 'SELECT version, document, updated_at FROM models.config WHERE id = 1'

export class ConfigRepository {
  async read(reader: Reader): Promise<VersionedConfig> {
    const [row] = await reader.query<Row>(READ)
    return toConfig(row as Row)
  }

  async lock(tx: Tx): Promise<VersionedConfig> {
    const [row] = await tx.query<Row>(`${READ} FOR UPDATE`)
    return toConfig(row as Row)
  }

  write(tx: Tx, { version, document, updatedAt }: VersionedConfig): void {
    tx.send('UPDATE models.config SET version = $1, document = $2, updated_at = $3 WHERE id = 1', [
      version,
      json(document),
      new Date(updatedAt),
    ])
  }
}
