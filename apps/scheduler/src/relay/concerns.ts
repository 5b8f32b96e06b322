import { contract } from '#common/contract/index.js'
import type { OutboxMessage } from '#common/kernel/database/tx.js'
import type { CronRecord } from '../cron/cron.record.js'
import type { FireRecord } from '../fire/fire.record.js'

const set = contract['lifecycle.concern.set']
const longestMessage = 2000

const message = ({ id, version }: Pick<CronRecord, 'id' | 'version'>, concern: unknown): OutboxMessage => ({
  key: `${set.name}:${id}:${version}`,
  target: set.service,
  type: set.name,
  payload: { ref: id, version, concern },
})

/** Whether a person was told of this schedule, and is to be told when nothing is left to do. */
export const isRaised = ({ pause_reason, consecutive_failures }: CronRecord): boolean =>
  pause_reason === 'failures' && consecutive_failures > 0

const failures = ({ consecutive_failures: count }: CronRecord): string =>
  `${count === 1 ? 'Its last firing' : `Its last ${count} firings`} failed`

/**
 * A schedule that gave up needs a person.
 *
 * @param cron as it is stored by the same transaction, with its new version
 * @param what came to pass: failures, unless it says otherwise
 */
export const raised = (
  cron: CronRecord,
  last: Pick<FireRecord, 'error'>,
  at: Date,
  what = failures(cron),
): OutboxMessage => {
  const { id, name, owner_node_id: node_id, app_id, profile } = cron
  const why = last.error ? `: ${last.error.message}` : '.'
  return message(cron, {
    node_id,
    app_id,
    profile,
    name,
    since: at.toISOString(),
    message: `${what}, so that it was paused${why}`.slice(0, longestMessage),
    remedy: `Look at what failed (svc cron show ${id}), then go on with it (svc cron resume ${id}) or delete it.`,
  })
}

/** Nothing of this schedule needs a person any more. One that is deleted says it with a version above its last. */
export const cleared = (cron: Pick<CronRecord, 'id' | 'version'>): OutboxMessage => message(cron, null)
