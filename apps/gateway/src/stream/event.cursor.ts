import { SvcError } from '#common/kernel/errors.js'

/**
 * Where a reader stands: the sequence number of the last event that it has. The id of a delta begins with it, so that a
 * reader can go on from either.
 *
 * @returns undefined when the reader names no position.
 * @throws SvcError `malformed_request`.
 */
export const positionOf = (after: string | undefined): number | undefined => {
  if (after === undefined || after === '') return undefined
  const found = /^(\d{1,15})(?:\.\d{1,15}){0,3}$/.exec(after)
  if (!found) throw new SvcError('malformed_request', 'The cursor is not the id of an event.', { field: 'after' })
  return Number(found[1])
}
