import type { CronFire } from '#sdk/index.js'
import { ago, lasting } from '../clock.js'
import { brief, table } from '../output/table.js'

const ended: readonly CronFire['status'][] = [
  'succeeded',
  'failed',
  'canceled',
  'unknown',
  'skipped',
  'missed',
  'coalesced',
]

export const hasEnded = ({ status }: CronFire): boolean => ended.includes(status)

/** Why it did not go as planned, in a few words; `svc ledger` has more of them. */
const causes: Readonly<Record<NonNullable<CronFire['cause']>, string>> = {
  late: 'late',
  overlap: 'earlier work went on',
  queue_full: 'too many waited',
  paused: 'paused',
  policy: 'none is made up for',
  window: 'too old to make up for',
  cap: 'too many to make up for',
  coalesced: 'one was fired for all',
  refused: 'refused',
  work_failed: 'its work failed',
  work_canceled: 'its work was canceled',
  outcome_unknown: 'nobody saw its end',
  cron_ended: 'schedule deleted',
}

/** Why its work failed, in one line; undefined where it didn't. */
export const failureText = ({ error, exit_code }: CronFire): string | undefined => {
  if (error) return `${error.code}: ${error.message}`
  return exit_code ? `exit code ${exit_code}` : undefined
}

/** What became of one slot, with where its work is found. */
export const fireText = (fire: CronFire): string => {
  const { status, cause, slot, fired_at, lateness_ms, node_id } = fire
  const failure = failureText(fire)
  return [
    cause === null ? status : `${status} (${causes[cause]})`,
    `, the slot of ${slot}`,
    fired_at === null ? '' : `, fired ${ago(fired_at)} ago`,
    lateness_ms ? `, ${lasting(lateness_ms)} late` : '',
    node_id ? `, by ${node_id}` : '',
    failure ? `; ${failure}` : '',
  ].join('')
}

/** The end of what its command wrote, if it was one. */
export const lastOutput = ({ output }: CronFire): string | undefined => output?.trimEnd() || undefined

export const fireTable = (fires: readonly CronFire[]): string =>
  table(
    ['SLOT', 'STATUS', 'WHY', 'LATE', 'NODE', 'ERROR'],
    fires.map((fire) => [
      slotText(fire),
      fire.trigger === 'manual' ? `${fire.status} (by hand)` : fire.status,
      fire.cause === null ? '-' : causes[fire.cause],
      fire.lateness_ms === null ? '-' : lasting(fire.lateness_ms),
      fire.node_id ?? '-',
      brief(failureText(fire) ?? '', 100),
    ]),
  )

/** A line may stand for a run of slots. */
const slotText = ({ slot, slots, last_slot }: CronFire): string =>
  slots === 1 ? slot : `${slot} to ${last_slot} (${slots})`
