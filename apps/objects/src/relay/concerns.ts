import { contract } from '#common/contract/index.js'
import { isoTime } from '#common/kernel/clock.js'
import type { OutboxMessage } from '#common/kernel/database/tx.js'

const set = contract['lifecycle.concern.set']
const longestMessage = 2000

/** The receiver of an object, at a version of its status: a later one counts, whichever is told first. */
export interface ConcernOf {
  readonly id: string
  readonly status_version: number
}

const message = ({ id, status_version: version }: ConcernOf, concern: unknown): OutboxMessage => ({
  key: `${set.name}:${id}:${version}`,
  target: set.service,
  type: set.name,
  payload: { ref: id, version, concern },
})

/** A receiver to which nothing is sent any more needs a person. */
export const raised = (
  of: ConcernOf & { readonly name: string; readonly app_id: string | null },
  { at, why, reason }: { readonly at: Date; readonly why: string; readonly reason: 'dead' | 'gone' },
): OutboxMessage => {
  const { name, app_id } = of
  const look = `svc custom-object deliveries ${name} --state ${reason === 'dead' ? 'dead' : 'failed'}`
  const replay = reason === 'dead' ? `, replay what is dead (svc custom-object replay ${name} --all)` : ''
  return message(of, {
    node_id: null,
    app_id,
    profile: null,
    name,
    since: isoTime(at.getTime()),
    message: `Nothing is sent to the receiver of ${name} any more. ${why}`.slice(0, longestMessage),
    remedy: `Look at what failed (${look})${replay}, then go on (svc custom-object resume ${name}).`,
  })
}

/** Nothing of this receiver needs a person any more. One that is deleted says it with a version above its last. */
export const cleared = (of: ConcernOf): OutboxMessage => message(of, null)
