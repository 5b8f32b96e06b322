import type { JournalEntry } from '#sdk/generated/types.js'

/** What of a context's journal its conversation still holds. */
export interface Present {
  /** Stands for all entries before `from`. */
  readonly summary: string | undefined
  /** Entries from here on are told as they are. */
  readonly from: number
  /** Long outputs of tools before this one are left out. */
  readonly elided: number
}

export const presentOf = (journal: readonly JournalEntry[]): Present => {
  let present: Present = { summary: undefined, from: 0, elided: 0 }
  for (const [at, entry] of journal.entries()) {
    if (entry.type !== 'compacted') continue
    const { from } = present
    const begin = Math.max(from, at - entry.kept)
    present =
      entry.summary === null ? { ...present, elided: begin } : { summary: entry.summary, from: begin, elided: begin }
  }
  return present
}

/** Position of the newest entry that made the conversation smaller; -1 when none did. */
export const lastCompactedAt = (journal: readonly JournalEntry[]): number =>
  journal.findLastIndex(({ type }) => type === 'compacted')
