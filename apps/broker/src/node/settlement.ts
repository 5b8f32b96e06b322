import type { Settlement } from '#sdk/generated/types.js'
import { hasCode, JournalMoved } from '../daemon/endings.js'
import type { NodeSession } from './node.session.js'

/**
 * What to do at the end of a turn, as the daemon sees it. An interrupt doesn't cut the question off: the answer that the
 * model gave before is to be recorded.
 *
 * @throws Ended; JournalMoved when another process works on this turn
 */
export const settlementOf = async ({ daemon, ended }: NodeSession, turn: number): Promise<Settlement> => {
  try {
    return await daemon.post<Settlement>('broker/settle', { turn }, { signal: ended })
  } catch (error) {
    if (hasCode(error, 'journal_conflict')) throw new JournalMoved()
    throw error
  }
}
