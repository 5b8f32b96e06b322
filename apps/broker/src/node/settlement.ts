import { hasCode, JournalMoved } from '../daemon/endings.js'
import type { NodeSession } from './node.session.js'

/** What to do at the end of a turn, as the daemon sees it. */
export interface Settlement {
  readonly directive: 'continue' | 'finish' | 'wait' | 'yield' | 'stop'
  /** What is on its way that wakes the node. */
  readonly waits_for: readonly { readonly kind: string; readonly id: string; readonly name?: string | undefined }[]
}

/** @throws Ended; JournalMoved when another process works on this turn; the reason of the turn's signal */
export const settlementOf = async ({ daemon, turnSignal }: NodeSession, turn: number): Promise<Settlement> => {
  try {
    return await daemon.post<Settlement>('broker/settle', { turn }, { signal: turnSignal })
  } catch (error) {
    if (hasCode(error, 'journal_conflict')) throw new JournalMoved()
    throw error
  }
}
