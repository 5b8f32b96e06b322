import { cronLimits, type FireCause } from '#common/contract/cron.schema.js'
import type { CronRecord } from '../cron/cron.record.js'
import { type PlannedFire, type PlannedLine, planSlots, type SlotPlan } from '../schedule/slot.plan.js'
import { ledgerOf } from './fire.ledger.js'
import { fireMachine } from './fire.machine.js'
import { type FireRecord, newFire } from './fire.record.js'
import type { Growth, Move, OpenFires } from './fire.repository.js'

/** Pieces of a long outage that are decided about in one go. */
const longestPlan = 20

/** What is known of a schedule when its slots are decided about. */
export interface Standing {
  readonly open: OpenFires
  /** Its last line. */
  readonly newest: FireRecord | undefined
  readonly now: Date
  /** How a firing that begins now is held. */
  readonly holding: Pick<FireRecord, 'attempts' | 'held_until'>
}

export interface Decision {
  readonly move: Move
  /** New lines, each slot in one of them. */
  readonly fires: readonly FireRecord[]
  /** The last line stands for these slots as well. */
  readonly growth: Growth | null
}

type Line = Omit<PlannedLine, 'cause'> & { readonly cause: FireCause }

/** Slots in a row with one fate are one line. */
const joined = (lines: readonly Line[]): Line[] => {
  const rows: Line[] = []
  for (const line of lines) {
    const last = rows.at(-1)
    if (last?.status !== line.status || last.cause !== line.cause) rows.push(line)
    else rows.splice(-1, 1, { ...last, slots: last.slots + line.slots, last_slot: line.last_slot })
  }
  return rows
}

/** All that is due, in as many pieces as that takes. */
const planAll = (cron: CronRecord, now: Date): SlotPlan => {
  let plan = planSlots(cron, now.getTime())
  for (let pieces = 1; plan.more && pieces < longestPlan; pieces += 1) {
    const next = planSlots({ ...cron, next_slot: plan.nextSlot }, now.getTime())
    plan = { ...next, lines: [...plan.lines, ...next.lines], fires: [...plan.fires, ...next.fires] }
  }
  return plan
}

const rowOf = (cron: CronRecord, { slot, due_at, cause }: PlannedFire, now: Date): FireRecord => ({
  ...newFire(cron, { slot, due_at, trigger: 'schedule' }, now),
  cause,
})

const lineRow = (cron: CronRecord, line: Line, now: Date): FireRecord => {
  const { status, cause, slot, last_slot, slots, due_at } = line
  const row = { ...rowOf(cron, { slot, due_at, cause: null }, now), status, cause, slots, last_slot }
  return { ...row, ledger: ledgerOf(row) }
}

type Fate = 'begins' | 'waits' | 'overlap' | 'queue_full'

/** What becomes of firings one after another, by what goes on when their turn comes. */
class Turns {
  #begun: number
  #queued: number
  #late: number

  constructor(
    private readonly cron: CronRecord,
    { begun, queued, late }: OpenFires,
  ) {
    this.#begun = begun
    this.#queued = queued
    this.#late = late
  }

  next({ cause }: PlannedFire): Fate {
    if (cause === 'late') this.#late += 1
    const fate = this.#fate(this.#late > 0 && this.cron.missed === 'all')
    if (fate === 'begins') this.#begun += 1
    if (fate === 'waits') this.#queued += 1
    return fate
  }

  /** Slots of an outage that are all made up for are so one after another, and those on time behind them. */
  #fate(inTurn: boolean): Fate {
    const { overlap } = this.cron
    if (overlap === 'allow' || this.#begun + this.#queued === 0) return 'begins'
    if (overlap === 'skip' && !inTurn) return 'overlap'
    return this.#queued < cronLimits.queued ? 'waits' : 'queue_full'
  }
}

const left = (fire: PlannedFire, cause: 'overlap' | 'queue_full'): Line => ({
  status: 'skipped',
  cause,
  slot: fire.slot,
  last_slot: fire.slot,
  slots: 1,
  due_at: fire.due_at,
})

const begun = (cron: CronRecord, fire: PlannedFire, { now, holding }: Standing): FireRecord => {
  const row = { ...rowOf(cron, fire, now), ...holding }
  return { ...row, ledger: ledgerOf(row) }
}

const waiting = (cron: CronRecord, fire: PlannedFire, { now }: Standing): FireRecord => {
  const row = fireMachine.apply(rowOf(cron, fire, now), 'wait')
  return { ...row, ledger: ledgerOf(row) }
}

/**
 * What becomes of all slots of a schedule that are due, by its policies and what goes on.
 *
 * @throws SvcError timezone_unknown on a machine that does not know its zone
 */
export const decisionOf = (cron: CronRecord, standing: Standing): Decision => {
  const { open, newest, now } = standing
  const plan = planAll(cron, now)
  const turns = new Turns(cron, open)
  const rows: FireRecord[] = []
  let lines: Line[] = [...plan.lines]
  const flush = (): void => {
    rows.push(...joined(lines).map((line) => lineRow(cron, line, now)))
    lines = []
  }
  for (const fire of plan.fires) {
    const fate = turns.next(fire)
    if (fate === 'overlap' || fate === 'queue_full') lines.push(left(fire, fate))
    else {
      flush()
      rows.push(fate === 'begins' ? begun(cron, fire, standing) : waiting(cron, fire, standing))
    }
  }
  flush()
  const growth = growthOf(newest, rows[0])
  return {
    move: { id: cron.id, next_slot: plan.nextSlot, next_due: plan.nextDue },
    fires: growth ? rows.slice(1) : rows,
    growth,
  }
}

/** A schedule that is paused, or whose work goes on and on, has one line that grows. */
const growthOf = (newest: FireRecord | undefined, first: FireRecord | undefined): Growth | null => {
  if (newest?.trigger !== 'schedule' || newest.status !== 'skipped' || first?.status !== 'skipped') return null
  if (newest.cause !== first.cause) return null
  const { cron_id, slot } = newest
  return { cron_id, slot, slots: first.slots, last_slot: first.last_slot, noted_at: first.noted_at }
}
