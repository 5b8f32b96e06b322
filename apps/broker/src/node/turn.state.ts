import type { JournalEntry } from '#sdk/generated/types.js'

type Started = Extract<JournalEntry, { type: 'tool_started' }>

export interface OpenTurn {
  readonly turn: number
  /** Entries of this turn, its start first. */
  readonly entries: readonly JournalEntry[]
  /** Tool calls whose end was never recorded. */
  readonly dangling: readonly Started[]
}

/** The turn that began and has no end, if any. */
export const openTurnOf = (history: readonly JournalEntry[]): OpenTurn | undefined => {
  const start = history.findLastIndex((entry) => entry.type === 'turn_started')
  if (start < 0) return undefined
  const entries = history.slice(start)
  if (entries.some((entry) => entry.type === 'turn_ended')) return undefined
  const ended = new Set(entries.flatMap((entry) => (entry.type === 'tool_ended' ? [entry.call_id] : [])))
  const dangling = entries.flatMap((entry) =>
    entry.type === 'tool_started' && !ended.has(entry.call_id) ? [entry] : [],
  )
  return { turn: entries[0]!.turn, entries, dangling }
}

/** Whether the last turn failed. A node is launched anew without mail then only to try again. */
export const lastTurnFailed = (history: readonly JournalEntry[]): boolean => {
  const last = history.at(-1)
  return last?.type === 'turn_ended' && last.status === 'failed'
}

/** Number of the next turn; turns are counted over the node's whole life. */
export const nextTurnOf = (history: readonly JournalEntry[], begun: number): number =>
  history.reduce((highest, entry) => Math.max(highest, entry.turn), begun) + 1
