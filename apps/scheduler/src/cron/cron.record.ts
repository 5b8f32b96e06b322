import type { Authority, Cron, CronAction, CronSchedule } from '#common/contract/index.js'

/** A row of scheduler.crons; times as the driver gives them. */
export interface CronRecord {
  readonly id: string
  readonly name: string
  readonly owner_node_id: string | null
  /** That node and all above it. */
  readonly owner_path: readonly string[]
  readonly app_id: string | null
  readonly profile: string | null
  readonly authority: Authority
  readonly created_by: Cron['created_by']
  readonly schedule: CronSchedule
  readonly action: CronAction
  readonly target_node_id: string | null
  readonly missed: Cron['missed']
  readonly catchup_window_s: number
  readonly overlap: Cron['overlap']
  readonly jitter_s: number
  readonly start_at: Date | null
  readonly end_at: Date | null
  readonly max_failures: number
  readonly delete_after_run: boolean
  readonly status: Cron['status']
  readonly pause_reason: Cron['pause_reason']
  readonly consecutive_failures: number
  readonly anchor_at: Date
  readonly next_slot: Date | null
  readonly next_due: Date | null
  readonly version: number
  readonly created_at: Date
  readonly updated_at: Date
}

const iso = (time: Date | null): string | null => time?.toISOString() ?? null

export const toCron = (row: CronRecord, last: Cron['last_fire']): Cron => ({
  id: row.id,
  name: row.name,
  owner_node_id: row.owner_node_id,
  app_id: row.app_id,
  created_by: row.created_by,
  schedule: row.schedule,
  action: row.action,
  missed: row.missed,
  catchup_window_s: row.catchup_window_s,
  overlap: row.overlap,
  jitter_s: row.jitter_s,
  start_at: iso(row.start_at),
  end_at: iso(row.end_at),
  max_failures: row.max_failures,
  delete_after_run: row.delete_after_run,
  status: row.status,
  pause_reason: row.pause_reason,
  consecutive_failures: row.consecutive_failures,
  next_fire_at: row.status === 'active' ? iso(row.next_due) : null,
  last_fire: last,
  version: row.version,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})
