import type { Clock } from '#common/kernel/clock.js'
import { isSvcError } from '#common/kernel/errors.js'
import { PUNCTUAL } from '../schedule/slot.plan.js'
import { ledgerOf } from './fire.ledger.js'
import { fireMachine } from './fire.machine.js'
import type { FireEnd } from './fire.outcome.js'
import type { HeldFire } from './fire.repository.js'
import { refusalOf } from './refusal.js'

/**
 * Whoever carries out what a schedule does knows for a day what was done under a key, and does it once more after that. This
 * (ms) is less than half of it: of a try that left no word only the next one's time may be known.
 */
const remembered = 10 * 3_600_000

/** A try without an answer, which may have been heard: its firing is that of something that was done, as far as one knows. */
export class UnseenTry extends Error {
  constructor(
    readonly fire: HeldFire,
    readonly reason: unknown,
  ) {
    super('The answer to a try did not come.', { cause: reason })
  }
}

/** Whether this process and those like it carry it out, rather than have lifecycle begin it. */
export const isCarriedHere = ({ action }: { readonly action: { readonly type: string } | null }): boolean =>
  action?.type === 'bash' || action?.type === 'publish'

/** Whether a try before this one left no word of what became of it. */
export const isUntold = ({ status, attempts, error }: HeldFire): boolean =>
  status === 'starting' && attempts > 1 && error === null

/** Whether it may have been done so long ago that whoever did it would not know any more. */
export const isForgotten = (fire: HeldFire, clock: Clock): boolean => {
  const began = fire.status === 'running' || isUntold(fire) ? (fire.fired_at ?? fire.noted_at) : undefined
  return began !== undefined && clock.now() - began.getTime() > remembered
}

/** Whether who was asked may have heard what failed so: not where nobody listened, nor where it was refused. */
export const mayBeHeard = (error: unknown): boolean =>
  !isSvcError(error) ||
  (error.facts.retryable && error.fields.delivered !== false && error.fields.retry_after_ms === undefined)

/** What was tried more than once was fired by the try that was seen to run first. */
export const firedSince = (fire: HeldFire, firedAt: Date): Pick<HeldFire, 'cause' | 'fired_at'> => {
  const fired_at = fire.fired_at ?? firedAt
  const late = fired_at.getTime() - fire.due_at.getTime() > PUNCTUAL
  return { fired_at, cause: fire.cause ?? (late ? 'late' : null) }
}

/** The firing of what was begun, as far as one knows. */
export const shown = (fire: HeldFire, firedAt: Date): HeldFire => {
  const begun = fire.status === 'starting' ? fireMachine.apply(fire, 'begin') : fire
  const running = { ...begun, ...firedSince(fire, firedAt) }
  return { ...running, ledger: ledgerOf(running) }
}

/** The end of a firing that broke off. */
export const broken = (
  { cron_id, slot, fired_at }: HeldFire,
  { event, cause, error }: Pick<FireEnd, 'event' | 'cause'> & { readonly error: unknown },
  times: { readonly firedAt: Date; readonly endedAt: Date },
): FireEnd => {
  const found = { fired_at: fired_at ?? times.firedAt, error: refusalOf(error).error }
  return { cron_id, slot, event, cause, ended_at: times.endedAt, found }
}
