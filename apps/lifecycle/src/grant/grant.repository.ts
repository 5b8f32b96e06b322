import { Injectable } from '@nestjs/common'
import type { ToldGrant } from '#common/contract/grant.internal.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

interface GrantRow extends Omit<ToldGrant, 'profiles'> {
  readonly profiles: string[]
  readonly every_profile: boolean
}

const toGrant = ({ profiles, every_profile, ...row }: GrantRow): ToldGrant => ({
  ...row,
  profiles: every_profile ? null : profiles,
})

/** The grants of apps as the gateway told them last. */
@Injectable()
export class GrantRepository {
  /** By their apps. */
  async findAll(reader: Reader, appIds: readonly string[]): Promise<Map<string, ToldGrant>> {
    if (appIds.length === 0) return new Map()
    const rows = await reader.query<GrantRow>(
      'SELECT app_id, scopes, profiles, every_profile, version, status FROM canvas.grants WHERE app_id = ANY ($1::text[])',
      [appIds],
    )
    return new Map(rows.map((row) => [row.app_id, toGrant(row)]))
  }

  /** Whether it is newer than what was known. */
  async put(tx: Tx, grant: ToldGrant, at: Date): Promise<boolean> {
    const { app_id, scopes, profiles, version, status } = grant
    const changed = await tx.count(
      `INSERT INTO canvas.grants AS known (app_id, scopes, profiles, every_profile, version, status, updated_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (app_id) DO UPDATE SET scopes = excluded.scopes, profiles = excluded.profiles,
         every_profile = excluded.every_profile, version = excluded.version, status = excluded.status,
         updated_at = excluded.updated_at
       WHERE known.version < excluded.version`,
      [app_id, scopes, profiles ?? [], profiles === null, version, status, at],
    )
    return changed === 1
  }
}
