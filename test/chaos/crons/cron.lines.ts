import type { AdminConnection } from '#common/testing/admin-connection.js'

/** A line of scheduler.fires with the work that lifecycle says was begun under its key. */
export interface FireLine {
  readonly cron_id: string
  readonly name: string
  readonly slot: string
  readonly last_slot: string
  readonly slots: number
  readonly trigger: 'schedule' | 'manual'
  readonly status: string
  readonly cause: string | null
  readonly ledger: string | null
  readonly fired: boolean
  /** ms. */
  readonly lateness: number | null
  readonly node_id: string | null
  readonly message_id: string | null
  readonly exit_code: number | null
  readonly output: string | null
  readonly error: { code: string; message: string } | null
  readonly work: { node_id: string; message_id: string } | null
  readonly node_status: string | null
}

const slot = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** How lifecycle knows a firing. */
export const keyOf = (fire: string): string =>
  `${fire}.cron_id || ':' || (extract(epoch FROM ${fire}.slot) * 1000)::bigint`

const statement = `
  SELECT f.cron_id, f.name, ${slot('f.slot')} AS slot, ${slot('f.last_slot')} AS last_slot, f.slots, f.trigger, f.status,
         f.cause, f.ledger, f.fired_at IS NOT NULL AS fired,
         round(extract(epoch FROM f.fired_at - f.due_at) * 1000)::float AS lateness, f.node_id, f.message_id, f.exit_code,
         f.output, f.error,
         CASE WHEN w.key IS NOT NULL THEN json_build_object('node_id', w.node_id, 'message_id', w.message_id) END AS work,
         n.status AS node_status
    FROM scheduler.fires f LEFT JOIN canvas.works w ON w.key = ${keyOf('f')} LEFT JOIN canvas.nodes n ON n.id = w.node_id
   WHERE f.cron_id = ANY ($1) ORDER BY f.cron_id, f.slot`

export const readLines = (database: AdminConnection, ids: readonly string[]): Promise<FireLine[]> =>
  database.rows<FireLine>(statement, [ids])

const underWay = ['queued', 'starting', 'running']
export const isUnderWay = ({ status }: FireLine): boolean => underWay.includes(status)

/** Slots that were left alone. */
export const wasNeverBegun = ({ status }: FireLine): boolean => ['skipped', 'missed', 'coalesced'].includes(status)
