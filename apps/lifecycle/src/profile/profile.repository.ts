import { Injectable } from '@nestjs/common'
import type { ProfileDefaults } from '#common/contract/profile.schema.js'
import { json } from '#common/kernel/database/column-types.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

export interface ProfileRecord {
  readonly name: string
  readonly display_name: string
  readonly defaults: ProfileDefaults
  readonly app_id: string | null
  readonly version: number
  readonly created_at: Date
  readonly updated_at: Date
}

/** Rows of canvas.profiles. */
@Injectable()
export class ProfileRepository {
  async find(reader: Reader, name: string): Promise<ProfileRecord | undefined> {
    const [row] = await reader.query<ProfileRecord>('SELECT * FROM canvas.profiles WHERE name = $1', [name])
    return row
  }

  /** The profile of this name, locked; made when there is none, in which case it is what was given. */
  async claim(tx: Tx, given: ProfileRecord): Promise<{ row: ProfileRecord; made: boolean }> {
    const made = await tx.count(
      `INSERT INTO canvas.profiles (name, display_name, defaults, app_id, version, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (name) DO NOTHING`,
      [
        given.name,
        given.display_name,
        json(given.defaults),
        given.app_id,
        given.version,
        given.created_at,
        given.updated_at,
      ],
    )
    if (made === 1) return { row: given, made: true }
    const [row] = await tx.query<ProfileRecord>('SELECT * FROM canvas.profiles WHERE name = $1 FOR NO KEY UPDATE', [
      given.name,
    ])
    return { row: row ?? given, made: false }
  }

  save(tx: Tx, row: ProfileRecord): void {
    tx.send(
      `UPDATE canvas.profiles SET display_name = $2, defaults = $3, app_id = $4, version = $5, updated_at = $6 WHERE name = $1`,
      [row.name, row.display_name, json(row.defaults), row.app_id, row.version, row.updated_at],
    )
  }
}
