import { Inject, Injectable } from '@nestjs/common'
import { Database } from '#common/kernel/database/database.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { type GrantRecord, type GrantRow, theUser, toGrantRecord } from './grant.record.js'

const columns = 'app_id, scopes, profiles, every_profile, version, status, updated_at'

@Injectable()
export class GrantRepository {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** The grant of an app, also of one that was removed; undefined for one that never was. */
  async find(appId: string): Promise<GrantRecord | undefined> {
    const [row] = await this.database.query<GrantRow>(
      `SELECT ${columns} FROM gateway.grants WHERE app_id = $1 AND user_id = $2`,
      [appId, theUser],
    )
    return row && toGrantRecord(row)
  }

  findAll(appIds: readonly string[]): Promise<GrantRecord[]> {
    return this.#read(`SELECT ${columns} FROM gateway.grants WHERE user_id = $1 AND app_id = ANY ($2::text[])`, [
      appIds,
    ])
  }

  /** In the order of their apps; those behind `after`. */
  page(after: string, limit: number): Promise<GrantRecord[]> {
    return this.#read(
      `SELECT ${columns} FROM gateway.grants WHERE user_id = $1 AND app_id > $2 ORDER BY app_id LIMIT $3`,
      [after, limit],
    )
  }

  insert(tx: Tx, grant: GrantRecord): void {
    tx.send(
      `INSERT INTO gateway.grants (app_id, user_id, scopes, profiles, every_profile, version, status, updated_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        grant.appId,
        theUser,
        grant.scopes,
        ...profilesOf(grant),
        grant.version,
        grant.status,
        new Date(grant.updatedAt),
      ],
    )
  }

  /** Writes a locked grant. */
  update(tx: Tx, grant: GrantRecord): void {
    tx.send(
      `UPDATE gateway.grants SET scopes = $3, profiles = $4, every_profile = $5, version = $6, status = $7, updated_at = $8
        WHERE app_id = $1 AND user_id = $2`,
      [
        grant.appId,
        theUser,
        grant.scopes,
        ...profilesOf(grant),
        grant.version,
        grant.status,
        new Date(grant.updatedAt),
      ],
    )
  }

  async #read(text: string, values: readonly unknown[]): Promise<GrantRecord[]> {
    return (await this.database.query<GrantRow>(text, [theUser, ...values])).map(toGrantRecord)
  }
}

const profilesOf = ({ profiles }: GrantRecord): [readonly string[], boolean] => [profiles ?? [], profiles === null]
