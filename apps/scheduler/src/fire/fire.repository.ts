import type { PossibleAction } from '#common/contract/cron.schema.js'
import type { Authority } from '#common/contract/index.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { CronRecord } from '../cron/cron.record.js'
import { ledgerOf } from './fire.ledger.js'
import type { FireRecord } from './fire.record.js'

/** How many firings may come, whoever holds them but those that are full. */
export interface Vacancy {
  readonly limit: number
  readonly full: readonly string[]
}

/** Names one line. */
export type FireKey = Pick<FireRecord, 'cron_id' | 'slot'>

/** Firings of one schedule that have not ended. */
export interface OpenFires {
  readonly cron_id: string
  readonly queued: number
  /** Of the queued ones: those that were asked for by hand. */
  readonly asked: number
  /** Starting or running. */
  readonly begun: number
  /** Of all of them: those that are made up for, or were begun late. */
  readonly late: number
}

export const nothingOpen = (cron_id: string): OpenFires => ({ cron_id, queued: 0, asked: 0, begun: 0, late: 0 })

/** What carries a firing out, as its schedule says; without them the schedule is gone. */
export interface Order {
  readonly action: PossibleAction | null
  readonly authority: Authority | null
  readonly catchup_window_s: number | null
}

/** A firing that this process holds until `held_until`. */
export type HeldFire = FireRecord & Order

/** A line that stands for some more slots. */
export interface Growth extends FireKey {
  readonly slots: number
  readonly last_slot: Date
  readonly noted_at: Date
}

/** Where a schedule stands after its slots were decided about. */
export type Move = Pick<CronRecord, 'id' | 'next_slot' | 'next_due'>

const columns = `cron_id, slot, trigger, status, cause, slots, last_slot, due_at, fired_at, ended_at, node_id, message_id,
  error, exit_code, output, attempts, held_until, ledger, noted_at, name, owner_node_id, owner_path, app_id, profile`

const typed = `cron_id text, slot timestamptz, trigger text, status text, cause text, slots integer, last_slot timestamptz,
  due_at timestamptz, fired_at timestamptz, ended_at timestamptz, node_id text, message_id text, error json,
  exit_code integer, output text, attempts integer, held_until timestamptz, ledger text, noted_at timestamptz, name text,
  owner_node_id text, owner_path text[], app_id text, profile text`

const OPEN = "status IN ('queued', 'starting', 'running')"
const ofFire = 'cron_id = $1 AND slot = $2'

const LOCK_DUE = `SELECT * FROM scheduler.crons WHERE id = ANY ($1::text[]) AND next_due <= $2
  ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`
const LOCK_CRONS = 'SELECT * FROM scheduler.crons WHERE id = ANY ($1::text[]) ORDER BY id FOR NO KEY UPDATE'

const due = (status: string): string => `SELECT id FROM scheduler.crons
  WHERE next_due > $1 AND next_due <= $2 AND ${status} ORDER BY next_due, id LIMIT $3`
const DUE = due('true')
const DUE_ACTIVE = due("status = 'active'")
const DUE_RESTING = due("status <> 'active'")

const ARMABLE = `SELECT id, status, next_slot, next_due FROM scheduler.crons
  WHERE (next_due, id) > ($1, $2) AND next_due IS NOT NULL AND status = 'active' ORDER BY next_due, id LIMIT $3`

const OPEN_OF = `SELECT cron_id, (count(*) FILTER (WHERE status = 'queued'))::integer AS queued,
    (count(*) FILTER (WHERE status = 'queued' AND trigger = 'manual'))::integer AS asked,
    (count(*) FILTER (WHERE status <> 'queued'))::integer AS begun,
    (count(*) FILTER (WHERE cause = 'late'))::integer AS late
  FROM scheduler.fires WHERE cron_id = ANY ($1::text[]) AND ${OPEN} GROUP BY cron_id`

const NEWEST_OF = `SELECT f.* FROM unnest($1::text[]) AS c (id)
  CROSS JOIN LATERAL (SELECT ${columns} FROM scheduler.fires WHERE cron_id = c.id ORDER BY slot DESC LIMIT 1) f`

const NEWEST_FIRED_OF = `SELECT f.* FROM unnest($1::text[]) AS c (id)
  CROSS JOIN LATERAL (SELECT ${columns} FROM scheduler.fires WHERE cron_id = c.id AND fired_at IS NOT NULL
    ORDER BY slot DESC LIMIT 1) f`

const OPEN_ROWS = `SELECT f.* FROM unnest($1::text[], $2::timestamptz[]) AS named (cron_id, slot)
  CROSS JOIN LATERAL (SELECT ${columns} FROM scheduler.fires
    WHERE cron_id = named.cron_id AND slot = named.slot AND ${OPEN}) f ORDER BY cron_id, slot`

const OLDEST_QUEUED = `SELECT f.* FROM unnest($1::text[]) AS c (id)
  CROSS JOIN LATERAL (SELECT ${columns} FROM scheduler.fires WHERE cron_id = c.id AND status = 'queued' ORDER BY slot LIMIT 1) f`

const OLDEST_OPEN = `SELECT ${columns} FROM scheduler.fires WHERE cron_id = $1 AND ${OPEN} ORDER BY slot LIMIT 1`

const SLOTS_FROM = 'SELECT slot FROM scheduler.fires WHERE cron_id = $1 AND slot >= $2 ORDER BY slot LIMIT 1000'

const DROP_QUEUED = `UPDATE scheduler.fires SET status = $2, cause = 'paused', ledger = $3, noted_at = $4
  WHERE cron_id = ANY ($1::text[]) AND status = 'queued' AND trigger = 'schedule'`

const INSERT = `INSERT INTO scheduler.fires (${columns}) SELECT ${columns} FROM json_to_recordset($1::json) AS made (${typed})
  ON CONFLICT (cron_id, slot) DO NOTHING`

const GROW = `UPDATE scheduler.fires AS line SET slots = line.slots + more.slots, last_slot = more.last_slot,
    noted_at = more.noted_at
  FROM json_to_recordset($1::json) AS more (cron_id text, slot timestamptz, slots integer, last_slot timestamptz,
    noted_at timestamptz)
  WHERE line.cron_id = more.cron_id AND line.slot = more.slot`

const MOVE = `UPDATE scheduler.crons AS cron SET next_slot = moved.next_slot, next_due = moved.next_due
  FROM json_to_recordset($1::json) AS moved (id text, next_slot timestamptz, next_due timestamptz) WHERE cron.id = moved.id`

const UPDATE = `UPDATE scheduler.fires AS line SET status = made.status, cause = made.cause, fired_at = made.fired_at,
    ended_at = made.ended_at, node_id = made.node_id, message_id = made.message_id, error = made.error,
    exit_code = made.exit_code, output = made.output, attempts = made.attempts, held_until = made.held_until,
    ledger = made.ledger, noted_at = made.noted_at
  FROM json_to_recordset($1::json) AS made (${typed})
  WHERE line.cron_id = made.cron_id AND line.slot = made.slot AND line.${OPEN}`

const TAKE = `WITH free AS (SELECT f.cron_id, f.slot FROM scheduler.fires f WHERE f.held_until <= $1
        AND coalesce(f.app_id, f.owner_path[cardinality(f.owner_path)], 'owner') <> ALL ($5::text[])
        AND EXISTS (SELECT 1 FROM scheduler.crons c WHERE c.id = f.cron_id AND c.action ->> 'type' = 'bash') = $4
      ORDER BY f.held_until LIMIT $3 FOR UPDATE OF f SKIP LOCKED),
    taken AS (UPDATE scheduler.fires AS line SET held_until = $2, attempts = line.attempts + 1 FROM free
      WHERE line.cron_id = free.cron_id AND line.slot = free.slot RETURNING line.*)
  SELECT taken.*, cron.action, cron.authority, cron.catchup_window_s
    FROM taken LEFT JOIN scheduler.crons cron ON cron.id = taken.cron_id`

const FREE = 'UPDATE scheduler.fires SET held_until = $1 WHERE held_until > $2'

const BEGIN = `UPDATE scheduler.fires AS line SET status = 'running', fired_at = made.fired_at, node_id = made.node_id,
    message_id = made.message_id, held_until = NULL, cause = made.cause, error = NULL, ledger = made.ledger,
    noted_at = made.noted_at
  FROM json_to_recordset($1::json) AS made (${typed})
  WHERE line.cron_id = made.cron_id AND line.slot = made.slot AND line.status = 'starting'`

const HOLD = `UPDATE scheduler.fires SET held_until = $3, status = 'running', fired_at = coalesce(fired_at, $4), cause = $5,
    ledger = $6 WHERE ${ofFire} AND status IN ('starting', 'running')`

const PUT_OFF = `UPDATE scheduler.fires SET held_until = $3, error = $4, noted_at = CASE WHEN ledger IS NULL THEN $5 ELSE noted_at END,
    ledger = coalesce(ledger, 'waiting'), status = CASE WHEN status = 'starting' THEN $6 ELSE status END,
    fired_at = coalesce(fired_at, $7), cause = coalesce(cause, $8) WHERE ${ofFire} AND held_until IS NOT NULL`

const FORGET_ERROR = `UPDATE scheduler.fires SET error = NULL WHERE ${ofFire} AND held_until IS NOT NULL`

const RUNNING = `SELECT cron_id, slot, fired_at FROM scheduler.fires
  WHERE status = 'running' AND held_until IS NULL AND fired_at >= $1 AND (fired_at, cron_id, slot) > ($1, $2, $3)
  ORDER BY fired_at, cron_id, slot LIMIT $4`

const STUCK = `SELECT cron_id FROM scheduler.fires WHERE ${OPEN} GROUP BY cron_id HAVING bool_and(status = 'queued') LIMIT $1`

/** Rows as a parameter; their dates as text. */
const text = (rows: unknown): string => JSON.stringify(rows)

/** Rows of scheduler.fires, and of schedules as far as firing moves them. */
export class FireRepository {
  async installation(reader: Reader): Promise<string> {
    const [row] = await reader.query<{ name: string }>('SELECT name FROM scheduler.installation WHERE id = 1')
    if (!row) throw new Error('scheduler.installation is empty')
    return row.name
  }

  /** Schedules that are due in a span (from exclusive, to inclusive); of those that fire, or of those that only note it. */
  async due(
    reader: Reader,
    span: { from: Date; to: Date },
    limit: number,
    which: 'all' | 'active' | 'resting' = 'all',
  ): Promise<string[]> {
    const sql = { all: DUE, active: DUE_ACTIVE, resting: DUE_RESTING }[which]
    return (await reader.query<{ id: string }>(sql, [span.from, span.to, limit])).map(({ id }) => id)
  }

  /** Those of these that are still due, locked; what another process holds is left out. */
  lockDue(tx: Tx, ids: readonly string[], now: Date): Promise<CronRecord[]> {
    return tx.query<CronRecord>(LOCK_DUE, [ids, now])
  }

  lockCrons(tx: Tx, ids: readonly string[]): Promise<CronRecord[]> {
    return tx.query<CronRecord>(LOCK_CRONS, [ids])
  }

  /** Active schedules behind a position, in the order in which they are due. */
  armable(
    reader: Reader,
    after: { due: Date; id: string },
    limit: number,
  ): Promise<Pick<CronRecord, 'id' | 'status' | 'next_slot' | 'next_due'>[]> {
    return reader.query(ARMABLE, [after.due, after.id, limit])
  }

  openOf(tx: Tx, cronIds: readonly string[]): Promise<OpenFires[]> {
    return tx.query<OpenFires>(OPEN_OF, [cronIds])
  }

  /** Those of these lines that have not ended, in the order of their slots. */
  openRows(reader: Reader, keys: readonly FireKey[]): Promise<FireRecord[]> {
    return reader.query<FireRecord>(OPEN_ROWS, [keys.map(({ cron_id }) => cron_id), keys.map(({ slot }) => slot)])
  }

  /** Of each the firing whose turn is next. */
  oldestQueued(tx: Tx, cronIds: readonly string[]): Promise<FireRecord[]> {
    return tx.query<FireRecord>(OLDEST_QUEUED, [cronIds])
  }

  oldestOpen(tx: Tx, cronId: string): Promise<FireRecord[]> {
    return tx.query<FireRecord>(OLDEST_OPEN, [cronId])
  }

  async slotsFrom(tx: Tx, cronId: string, from: Date): Promise<Date[]> {
    return (await tx.query<{ slot: Date }>(SLOTS_FROM, [cronId, from])).map(({ slot }) => slot)
  }

  /** Slots that wait for their turn are left out: their schedules are paused. */
  dropQueued(tx: Tx, cronIds: readonly string[], now: Date): void {
    const dropped = { status: 'skipped', cause: 'paused', attempts: 0 } as const
    if (cronIds.length) tx.send(DROP_QUEUED, [cronIds, dropped.status, ledgerOf(dropped), now])
  }

  /** The last line of each. */
  newestOf(tx: Tx, cronIds: readonly string[]): Promise<FireRecord[]> {
    return tx.query<FireRecord>(NEWEST_OF, [cronIds])
  }

  /** By schedule: the newest of its slots that was fired, where any was. */
  async newestFiredOf(tx: Tx, crons: readonly Pick<CronRecord, 'id'>[]): Promise<Map<string, FireRecord>> {
    if (crons.length === 0) return new Map()
    const rows = await tx.query<FireRecord>(NEWEST_FIRED_OF, [crons.map(({ id }) => id)])
    return new Map(rows.map((fire) => [fire.cron_id, fire]))
  }

  /** A slot that has a line already keeps it. */
  insert(tx: Tx, fires: readonly FireRecord[]): void {
    if (fires.length) tx.send(INSERT, [text(fires)])
  }

  grow(tx: Tx, lines: readonly Growth[]): void {
    if (lines.length) tx.send(GROW, [text(lines)])
  }

  move(tx: Tx, moves: readonly Move[]): void {
    if (moves.length) tx.send(MOVE, [text(moves)])
  }

  /** Writes all that may change of lines whose schedules this transaction has locked. */
  update(tx: Tx, fires: readonly FireRecord[]): void {
    if (fires.length) tx.send(UPDATE, [text(fires)])
  }

  /**
   * Takes firings that nobody holds any more, for a new try, until then: those of commands, or all others, but for those of
   * holders who are full.
   */
  take(
    reader: Reader,
    held: { now: Date; until: Date },
    commands: boolean,
    { limit, full }: Vacancy,
  ): Promise<HeldFire[]> {
    return reader.query<HeldFire>(TAKE, [held.now, held.until, limit, commands, full])
  }

  /** Nobody holds a firing, or puts it off, for longer than until `last`: whoever did had a clock that was ahead. */
  async free(reader: Reader, now: Date, last: Date): Promise<void> {
    await reader.query(FREE, [now, last])
  }

  /** Records that others have taken the work on. */
  async begin(reader: Reader, fires: readonly FireRecord[]): Promise<void> {
    await reader.query(BEGIN, [text(fires)])
  }

  /** A command goes on: holds its firing for longer. */
  async hold(reader: Reader, fire: FireRecord, until: Date): Promise<void> {
    const { cron_id, slot, fired_at, cause, ledger } = fire
    await reader.query(HOLD, [cron_id, slot, until, fired_at, cause, ledger])
  }

  /** Lets another try be made then, of a firing that stands as it does here. */
  async putOff(reader: Reader, fire: FireRecord, until: Date, error: FireRecord['error'], now: Date): Promise<void> {
    const { cron_id, slot, status, fired_at, cause } = fire
    await reader.query(PUT_OFF, [cron_id, slot, until, error && text(error), now, status, fired_at, cause])
  }

  /** What was said of its last try is no word of the one that begins. */
  async forgetError(reader: Reader, { cron_id, slot }: FireKey): Promise<void> {
    await reader.query(FORGET_ERROR, [cron_id, slot])
  }

  /** Firings whose work goes on at lifecycle, behind a position. */
  running(
    reader: Reader,
    after: { fired_at: Date } & FireKey,
    limit: number,
  ): Promise<({ fired_at: Date } & FireKey)[]> {
    return reader.query(RUNNING, [after.fired_at, after.cron_id, after.slot, limit])
  }

  /** Schedules of which something waits for what is not there any more. */
  async stuck(reader: Reader, limit: number): Promise<string[]> {
    return (await reader.query<{ cron_id: string }>(STUCK, [limit])).map(({ cron_id }) => cron_id)
  }
}
