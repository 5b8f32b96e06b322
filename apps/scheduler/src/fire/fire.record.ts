import type { CronFire, LedgerState } from '#common/contract/index.js'

/** A row of scheduler.fires; times as the driver gives them. */
export interface FireRecord {
  readonly cron_id: string
  readonly slot: Date
  readonly trigger: CronFire['trigger']
  readonly status: CronFire['status']
  readonly cause: CronFire['cause']
  readonly slots: number
  readonly last_slot: Date
  readonly due_at: Date
  readonly fired_at: Date | null
  readonly ended_at: Date | null
  readonly node_id: string | null
  readonly message_id: string | null
  readonly error: CronFire['error']
  readonly exit_code: number | null
  readonly output: string | null
  readonly attempts: number
  readonly held_until: Date | null
  readonly ledger: LedgerState | null
  readonly noted_at: Date
  readonly name: string
  readonly owner_node_id: string | null
  /** That node and all above it. */
  readonly owner_path: readonly string[]
  readonly app_id: string | null
  readonly profile: string | null
}

/** The key of a firing at whoever does its work, for good. */
export const workKeyOf = (fire: Pick<FireRecord, 'cron_id' | 'slot'>): string =>
  `${fire.cron_id}:${fire.slot.getTime()}`

const iso = (time: Date | null): string | null => time?.toISOString() ?? null

export const toFire = (row: FireRecord): CronFire => ({
  cron_id: row.cron_id,
  slot: row.slot.toISOString(),
  trigger: row.trigger,
  status: row.status,
  cause: row.cause,
  slots: row.slots,
  last_slot: row.last_slot.toISOString(),
  due_at: row.due_at.toISOString(),
  fired_at: iso(row.fired_at),
  lateness_ms: row.fired_at && row.fired_at.getTime() - row.due_at.getTime(),
  ended_at: iso(row.ended_at),
  node_id: row.node_id,
  message_id: row.message_id,
  run_id: null,
  error: row.error,
  exit_code: row.exit_code,
  output: row.output,
})
