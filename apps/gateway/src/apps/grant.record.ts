import type { Grant } from '#common/contract/app.schema.js'
import { isoTime } from '#common/kernel/clock.js'

/** Until people log in, every grant is the owner's. */
export const theUser = 'owner'

/** What a person permits an app, as its row says it. */
export interface GrantRecord {
  readonly appId: string
  readonly scopes: readonly string[]
  /** Profiles of the app that it is for; null: all. */
  readonly profiles: readonly string[] | null
  readonly version: number
  readonly status: 'active' | 'revoked'
  /** Milliseconds since the epoch. */
  readonly updatedAt: number
}

export interface GrantRow {
  app_id: string
  scopes: string[]
  profiles: string[]
  every_profile: boolean
  version: number
  status: GrantRecord['status']
  updated_at: Date
}

export const toGrantRecord = (row: GrantRow): GrantRecord => ({
  appId: row.app_id,
  scopes: row.scopes,
  profiles: row.every_profile ? null : row.profiles,
  version: row.version,
  status: row.status,
  updatedAt: row.updated_at.getTime(),
})

export const toGrant = (record: GrantRecord): Grant => ({
  app_id: record.appId,
  user_id: theUser,
  scopes: [...record.scopes],
  profiles: record.profiles && [...record.profiles],
  version: record.version,
  status: record.status,
  updated_at: isoTime(record.updatedAt),
})
