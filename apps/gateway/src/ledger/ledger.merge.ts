import type { LedgerEntry } from '#common/contract/ledger.operations.js'
import { cursorAfter, type Page, pageOf } from '#common/kernel/database/cursor.js'

/** The newest first; of those that became known at one moment the last by its id, byte by byte. */
export const newestFirst = (a: LedgerEntry, b: LedgerEntry): number => {
  if (a.at !== b.at) return a.at < b.at ? 1 : -1
  return a.id === b.id ? 0 : a.id < b.id ? 1 : -1
}

/**
 * One page of what several services keep. Each part holds its newest entries below the same position, `limit + 1` of them
 * where it has so many: what a part leaves out is older than all that it gives, so that no page can miss it.
 */
export const pageOfParts = (parts: readonly (readonly LedgerEntry[])[], limit: number): Page<LedgerEntry> =>
  pageOf(parts.flat().sort(newestFirst), limit, ({ at, id }) => cursorAfter(new Date(at), id))
