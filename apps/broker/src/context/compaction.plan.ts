import type { JournalEntry } from '#sdk/generated/types.js'
import { bands } from './context.band.js'
import { carefulWindow, type Gauge } from './context.gauge.js'
import { elided, isLong } from './elision.js'
import { presentOf } from './present.entries.js'
import { tokensOfEntry, tokensOfText } from './token.estimate.js'

export interface CompactionPlan {
  /** `elide`: long outputs of old steps are left out. `summarise`: the older part of the conversation is told in short. */
  readonly do: 'elide' | 'summarise'
  /** Newest entries that stay as they are. */
  readonly kept: number
}

/** Of the window, for the newest steps that stay as they are beside a summary. */
const tailShare = 0.15
/** Of the window, what a summary has to make room of at least: where it is instructions and tools that fill it, none helps. */
const leastGain = 0.1
/** Newest steps whose outputs are never left out. */
const untouchedSteps = 2

/** A conversation may be cut here: no call stands on the one side, and its result on the other. */
const isJoint = (entry: JournalEntry): boolean =>
  entry.type === 'turn_started' || (entry.type === 'message' && entry.role === 'assistant')

/** What entries weigh in this conversation: a rough count, raised to what the provider really counted. */
const scaleOf = (journal: readonly JournalEntry[], { tokens, fixed }: Gauge): number => {
  const { from } = presentOf(journal)
  const rough = journal.slice(from).reduce((sum, entry) => sum + tokensOfEntry(entry), 0)
  return rough > 0 ? Math.max(1, (tokens - fixed) / rough) : 1
}

const elision = (journal: readonly JournalEntry[], gauge: Gauge): CompactionPlan | undefined => {
  const { tokens, window = carefulWindow } = gauge
  const { from, elided: before } = presentOf(journal)
  const joints = journal.flatMap((entry, at) => (at >= from && isJoint(entry) ? [at] : []))
  const until = joints.at(-untouchedSteps) ?? 0
  const rough = journal
    .slice(Math.max(before, from), until)
    .reduce(
      (sum, entry) =>
        entry.type === 'tool_ended' && isLong(entry.output)
          ? sum + tokensOfEntry(entry) - tokensOfText(elided(entry.output))
          : sum,
      0,
    )
  if (rough === 0 || tokens - rough * scaleOf(journal, gauge) > bands.hint * window) return undefined
  return { do: 'elide', kept: journal.length - until }
}

/** Entries at the end that stay beside a summary: whole steps, as many as have room. */
const tailOf = (journal: readonly JournalEntry[], room: number): number => {
  const { from } = presentOf(journal)
  let kept = 0
  let tokens = 0
  // what stands first is told in short in any case
  for (let at = journal.length - 1; at > from; at -= 1) {
    const entry = journal[at] as JournalEntry
    tokens += tokensOfEntry(entry)
    if (tokens > room) break
    if (isJoint(entry)) kept = journal.length - at
  }
  return kept
}

/**
 * How a conversation is made smaller; undefined when it can't be: nothing is in it but what it began with, or it is
 * instructions and tools that fill the window.
 *
 * @param tries summaries that were made for this very step, and did not help
 * @param refused whether a provider said that it is too long: a count of ours that says otherwise counts for nothing
 */
export const compactionOf = (
  journal: readonly JournalEntry[],
  gauge: Gauge,
  { tries, refused }: { tries: number; refused: boolean },
): CompactionPlan | undefined => {
  const { from, summary } = presentOf(journal)
  const begun = journal.slice(from).filter(({ type }) => type !== 'compacted')
  if (tries > 1 || (summary === undefined && begun.length < 2)) return undefined
  const spared = refused ? undefined : elision(journal, gauge)
  if (spared) return spared
  const window = gauge.window ?? carefulWindow
  const scale = scaleOf(journal, gauge)
  const kept = tries > 0 ? 0 : tailOf(journal, (tailShare * window) / scale)
  const gain = journal.slice(from, journal.length - kept).reduce((sum, entry) => sum + tokensOfEntry(entry), 0) * scale
  return refused || gain > leastGain * window ? { do: 'summarise', kept } : undefined
}
