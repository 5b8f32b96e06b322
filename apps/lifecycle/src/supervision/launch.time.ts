import type { NodeRecord } from '../node/node.record.js'

/** How far apart (ms) the clocks of two machines may lie. */
const skew = 10_000

/**
 * When a node may be launched (ms since the epoch); null: now. A clock that was set back behind the last change of the
 * row can't say any more when its time comes: rather too early than hours too late.
 */
export const launchTimeOf = (
  { next_launch_at, updated_at }: Pick<NodeRecord, 'next_launch_at' | 'updated_at'>,
  now: number,
): number | null => {
  const at = next_launch_at?.getTime() ?? null
  if (at === null || at <= now) return null
  return updated_at.getTime() > now + skew ? null : at
}
