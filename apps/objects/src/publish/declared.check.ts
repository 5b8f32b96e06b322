import { othersHadTheirTurn } from '#common/kernel/clock.js'
import { type FieldFault, SvcError } from '#common/kernel/errors.js'
import type { GivenEvent } from './given.event.js'
import type { KnownObject } from './object.catalogs.js'

/** Differences that an answer names. */
const shown = 50
/** Bytes of payloads that are checked in a row: what of one event takes some ms takes seconds of a whole batch. */
const inARow = 64 * 1024

/**
 * Lets through what the object declares.
 *
 * @throws SvcError event_not_declared, payload_schema_mismatch; rate_limited when too many payloads wait for their check
 */
export const requireDeclared = async ({ name, checks }: KnownObject, events: readonly GivenEvent[]): Promise<void> => {
  const undeclared = events.find(({ event }) => !checks.has(event))
  if (undeclared)
    throw new SvcError('event_not_declared', `${name} does not declare ${undeclared.event}.`, {
      event: undeclared.event,
      declared: [...checks.keys()],
      errors: [{ pointer: `${undeclared.pointer}/event`, message: 'is not declared' }],
    })
  const errors: FieldFault[] = []
  let since = 0
  for (const { event, payload, bytes, pointer } of events) {
    if (since > inARow) {
      await othersHadTheirTurn()
      since = 0
    }
    since += bytes
    const found = checks.get(event)?.differences(payload) ?? []
    // most are checked at once, and need no turn of the loop
    const faults = found instanceof Promise ? await found : found
    for (const fault of faults) errors.push({ ...fault, pointer: `${pointer}/payload${fault.pointer}` })
    if (errors.length >= shown) break
  }
  if (errors.length > 0) throw new SvcError('payload_schema_mismatch', undefined, { errors: errors.slice(0, shown) })
}
