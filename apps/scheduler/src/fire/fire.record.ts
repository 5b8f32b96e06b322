import type { CronFire, LedgerState } from '#common/contract/index.js'
import type { CronRecord } from '../cron/cron.record.js'
import { fireMachine } from './fire.machine.js'

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

/** A slot of a schedule that is to be fired, and nothing has been done about. */
export const newFire = (
  cron: CronRecord,
  { slot, due_at, trigger }: Pick<FireRecord, 'slot' | 'due_at' | 'trigger'>,
  now: Date,
): FireRecord => ({
  cron_id: cron.id,
  slot,
  trigger,
  status: fireMachine.initial,
  cause: null,
  slots: 1,
  last_slot: slot,
  due_at,
  fired_at: null,
  ended_at: null,
  node_id: null,
  message_id: null,
  error: null,
  exit_code: null,
  output: null,
  attempts: 0,
  held_until: null,
  ledger: null,
  noted_at: now,
  name: cron.name,
  owner_node_id: cron.owner_node_id,
  owner_path: cron.owner_path,
  app_id: cron.app_id,
  profile: cron.profile,
})

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
