import type { ContentPart, JournalEntry } from '#sdk/generated/types.js'
import { noteOf, type PartNote } from '../node/mail.text.js'
import type { Gauge } from './context.gauge.js'
import { lastCompactedAt } from './present.entries.js'

/** Shares of the window from which on an agent is told, told to act, and acted for. */
export const bands = { hint: 0.6, tell: 0.75, force: 0.9 } as const

type Told = 'hint' | 'tell'

const isTold = (journal: readonly JournalEntry[], band: Told): boolean =>
  journal
    .slice(lastCompactedAt(journal) + 1)
    .some(
      (entry) =>
        (entry.type === 'message' || entry.type === 'turn_started') &&
        entry.content.some((part) => noteOf(part)?.band === band),
    )

const textOf = (band: Told, { tokens, window }: Pick<Gauge, 'tokens' | 'window'>, canYield: boolean): string => {
  const full = `[Your context is ${Math.floor((100 * tokens) / (window as number))} % full.`
  if (!canYield) return `${full} Older parts of this conversation will be condensed soon: note what you must not lose.]`
  return band === 'hint'
    ? `${full} Bring what you are doing to a point where you can put it down; when you get there, call yield with a note to yourself, or finish, if little is left.]`
    : `${full} Call yield now, with a note that holds all that you need to go on, unless you finish in this very step. Otherwise this conversation is condensed without you, and details are lost.]`
}

/** What an agent is told as its context fills, once for each band. */
export const bandNote = (
  journal: readonly JournalEntry[],
  { tokens, window }: Pick<Gauge, 'tokens' | 'window'>,
  canYield: boolean,
): ContentPart[] => {
  if (window === undefined) return []
  const share = tokens / window
  const band: Told | undefined = share >= bands.tell ? 'tell' : share >= bands.hint ? 'hint' : undefined
  if (!band || isTold(journal, band) || isTold(journal, 'tell')) return []
  const text = textOf(band, { tokens, window }, canYield)
  return [{ type: 'text', text, provider_metadata: { svc: { band } } satisfies PartNote }]
}
