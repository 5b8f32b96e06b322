import type { FireCause } from '#common/contract/cron.schema.js'
import { type CronEvent, cronMachine } from '../cron/cron.machine.js'
import type { CronRecord } from '../cron/cron.record.js'
import { ledgerOf } from './fire.ledger.js'
import { fireMachine } from './fire.machine.js'
import type { FireRecord } from './fire.record.js'
import type { FireKey, OpenFires } from './fire.repository.js'

/** How a firing ended, and what is known of it besides. */
export interface FireEnd extends FireKey {
  readonly event: 'succeed' | 'fail' | 'cancel' | 'lose' | 'miss'
  /** Why it did not go as planned; null leaves what was known before. */
  readonly cause: FireCause | null
  readonly ended_at: Date
  /** Of an end by which nothing was begun: the try that says so. A later one may know better. */
  readonly attempts?: number
  /** What else is known: when it was fired, whose work it was, its error, what its command wrote. */
  readonly found?: Partial<Pick<FireRecord, 'fired_at' | 'node_id' | 'message_id' | 'error' | 'exit_code' | 'output'>>
}

/** Whether a firing that has not ended may end so. */
export const isEndOf = (end: FireEnd, fire: FireRecord): boolean =>
  fireMachine.legal(fire.status).includes(end.event) && (end.attempts === undefined || end.attempts === fire.attempts)

/** The line of a firing that has ended. */
export const ended = (fire: FireRecord, end: FireEnd, now: Date): FireRecord => {
  const { status } = fireMachine.apply(fire, end.event)
  const cause = end.cause ?? fire.cause
  return {
    ...fire,
    ...end.found,
    status,
    cause,
    // what a first try began stays what it was
    fired_at: fire.fired_at ?? end.found?.fired_at ?? null,
    ended_at: end.ended_at,
    held_until: null,
    ledger: ledgerOf({ ...fire, status, cause }),
    noted_at: now,
  }
}

/** What becomes of a schedule whose firings have ended. */
export interface Consequences {
  /** What changes in its row; null when nothing does. */
  readonly changes: Partial<CronRecord> | null
  /** It goes, as it was told to. */
  readonly done: boolean
  /** What waits for its turn is left out. */
  readonly drop: boolean
  /** The next of those that wait begins. */
  readonly release: boolean
}

const failedStates = new Set<FireRecord['status']>(['failed', 'unknown'])

const countFailures = (before: number, lines: readonly FireRecord[]): number =>
  lines.reduce((count, { status }) => {
    if (failedStates.has(status)) return count + 1
    return status === 'succeeded' ? 0 : count
  }, before)

/** One of which nothing was ever fired has failed as well: what it was for has not happened. */
const endOf = (newest: FireRecord | undefined): CronEvent =>
  newest && !failedStates.has(newest.status) ? 'complete' : 'fail'

/** Whether nothing of a schedule is to come any more, so that it is over once nothing of it goes on. */
export const isSpent = ({ next_slot, status }: CronRecord): boolean =>
  next_slot === null && cronMachine.legal(status).includes('complete')

/**
 * @param lines that have ended, as they are now and in the order of their slots
 * @param open what had not ended before that, these lines included
 * @param newest of one that is spent: the newest of its slots that was fired, if any was
 */
export const consequencesOf = (
  cron: CronRecord,
  lines: readonly FireRecord[],
  open: OpenFires,
  newest?: FireRecord,
): Consequences => {
  const failures = countFailures(cron.consecutive_failures, lines)
  const begun = open.begun - lines.length
  const givesUp = cron.status === 'active' && failures >= cron.max_failures
  const drop = (givesUp || cron.status === 'paused') && open.queued > open.asked
  const queued = drop ? open.asked : open.queued
  const done = cron.delete_after_run && lines.some(({ status }) => status === 'succeeded')
  const over = isSpent(cron) && begun + queued === 0
  const event = over ? endOf(newest) : givesUp ? 'give_up' : null
  const moved = event === null ? cron : cronMachine.apply({ ...cron, consecutive_failures: failures }, event)
  const changed = event !== null || failures !== cron.consecutive_failures
  return {
    changes: changed
      ? { status: moved.status, pause_reason: moved.pause_reason, consecutive_failures: failures }
      : null,
    done,
    drop: drop && !done,
    release: begun === 0 && queued > 0 && !drop && !done,
  }
}
