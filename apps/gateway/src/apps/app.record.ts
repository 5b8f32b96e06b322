import type { App } from '#common/contract/app.schema.js'
import { isoTime } from '#common/kernel/clock.js'
import { type GrantRecord, type GrantRow, toGrant, toGrantRecord } from './grant.record.js'

/** An app with its grant, as rows say it; times in milliseconds since the epoch. */
export interface AppRecord {
  readonly id: string
  readonly name: string
  readonly description: string | null
  readonly origins: readonly string[]
  readonly createdAt: number
  readonly updatedAt: number
  readonly grant: GrantRecord
  /** Tokens that work now. */
  readonly tokens: number
}

export interface AppRow extends Omit<GrantRow, 'app_id' | 'updated_at'> {
  id: string
  name: string
  description: string | null
  origins: string[]
  created_at: Date
  updated_at: Date
  granted_at: Date
  tokens: number
}

export const toAppRecord = (row: AppRow): AppRecord => ({
  id: row.id,
  name: row.name,
  description: row.description,
  origins: row.origins,
  createdAt: row.created_at.getTime(),
  updatedAt: row.updated_at.getTime(),
  grant: toGrantRecord({ ...row, app_id: row.id, updated_at: row.granted_at }),
  tokens: row.tokens,
})

export const toApp = (record: AppRecord): App => ({
  id: record.id,
  name: record.name,
  description: record.description,
  origins: [...record.origins],
  grant: toGrant(record.grant),
  tokens: record.tokens,
  created_at: isoTime(record.createdAt),
  updated_at: isoTime(record.updatedAt),
})
