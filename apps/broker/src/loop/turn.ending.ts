import type { Assignment, ContentPart, JournalEntry, LlmAnswer, Settlement } from '#sdk/generated/types.js'
import { noteOf, type PartNote } from '../node/mail.text.js'

type Nudge = 'cut' | 'result' | 'report' | 'stop'

/** What follows when the model stops without calling a tool. */
export type Ending =
  | { readonly do: 'nudge'; readonly part: ContentPart }
  | { readonly do: 'end'; readonly final?: string }
  | { readonly do: 'fail'; readonly why: string }

type Facts = Pick<Assignment, 'lifecycle' | 'mode' | 'result_schema' | 'context' | 'engagement' | 'forked_from'>

export interface Stop {
  readonly answer: Pick<LlmAnswer, 'content' | 'finish_reason'>
  /** Entries of the turn before the answer. */
  readonly turn: readonly JournalEntry[]
  /** Whether the node has done more than answer. */
  readonly worked: boolean
  /** What the daemon says; absent where it wasn't asked. */
  readonly settled?: Settlement | undefined
}

const texts: Readonly<Record<Nudge, string>> = {
  cut: 'Your answer was cut off at the length limit. Go on where it ended, in smaller pieces.',
  result:
    "You stopped without handing in the result that you owe, and nothing is on its way that would wake you. Call submit_result with a value that fits its schema now; if you can't, give the closest value that fits.",
  report: 'You stopped without saying anything. Give your final report now, with the report tool (kind final).',
  stop: 'You stopped, and nothing is on its way that would wake you. If the work is done, or can not be done, give your final report with `report` (kind `final`). If something is left that you can do, go on with it. If a person has to decide, `ask_human` and then `wait`; if you expect a message, `wait` with a `timeout`. If you stop once more, your last words are taken for the final report.',
}

/** Answers that may be cut off in a row before the turn is given up. */
const cutsAllowed = 3

const nudge = (kind: Nudge): Ending => ({
  do: 'nudge',
  part: { type: 'text', text: texts[kind], provider_metadata: { svc: { nudge: kind } } satisfies PartNote },
})

const isNudge = (entry: JournalEntry, ...kinds: readonly Nudge[]): boolean =>
  entry.type === 'message' && entry.content.some((part) => kinds.some((kind) => noteOf(part)?.nudge === kind))

const nudged = (turn: readonly JournalEntry[], ...kinds: readonly Nudge[]): number =>
  turn.filter((entry) => isNudge(entry, ...kinds)).length

const textOf = (content: readonly ContentPart[]): string =>
  content
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('')
    .trim()

/** What the model said last in the turn; empty when it said nothing. */
const wordsOf = (turn: readonly JournalEntry[]): string =>
  turn.reduce(
    (words, entry) => (entry.type === 'message' && entry.role === 'assistant' ? textOf(entry.content) || words : words),
    '',
  )

/** Whether the node has done more than answer what it was asked: then it may wait for something, or not be done. */
export const hasWorked = (
  { context, engagement, forked_from }: Pick<Facts, 'context' | 'engagement' | 'forked_from'>,
  history: readonly JournalEntry[],
): boolean =>
  context > 1 || engagement > 1 || forked_from !== null || history.some(({ type }) => type === 'tool_started')

/**
 * Whether the daemon is asked what to do. A node that only answered waits for nothing; and who owes nothing may stop
 * whenever it likes.
 */
export const isSettled = (
  { lifecycle, result_schema }: Pick<Facts, 'lifecycle' | 'result_schema'>,
  { answer, worked }: Stop,
): boolean =>
  worked &&
  (lifecycle === 'terminal' || result_schema !== null) &&
  answer.finish_reason !== 'length' &&
  answer.finish_reason !== 'content_filter'

export const endingOf = (facts: Facts, stop: Stop): Ending => {
  const { answer, turn, settled } = stop
  if (answer.finish_reason === 'length') {
    return nudged(turn, 'cut') < cutsAllowed
      ? nudge('cut')
      : { do: 'fail', why: 'The model ran into its output limit again and again.' }
  }
  if (answer.finish_reason === 'content_filter')
    return { do: 'fail', why: 'The provider withheld the answer (content filter).' }
  // Something is on its way, or the daemon has other plans: what was said is no end of the work.
  if (settled && settled.directive !== 'finish') return { do: 'end' }
  if (facts.result_schema) {
    return nudged(turn, 'result') === 0
      ? nudge('result')
      : { do: 'fail', why: 'The model stopped without submitting the result that this node owes.' }
  }
  if (facts.lifecycle === 'resident') return { do: 'end' }
  return conclusionOf(facts, stop)
}

/** A terminal node that waits for nothing and has not reported: told once, then taken at its word. */
const conclusionOf = ({ mode }: Facts, { answer, turn, worked }: Stop): Ending => {
  const said = textOf(answer.content)
  if (mode === 'orchestrator') return said ? { do: 'end', final: said } : { do: 'end' }
  if (nudged(turn, 'report', 'stop') === 0) {
    if (!said) return nudge('report')
    return worked ? nudge('stop') : { do: 'end', final: said }
  }
  const words = said || wordsOf(turn)
  return words ? { do: 'end', final: words } : { do: 'fail', why: 'The model stopped without a word, twice.' }
}

/** The words that stand as the final report when the model can't be asked once more; absent where it wasn't asked so. */
export const wordsBeforeNudge = (turn: readonly JournalEntry[]): string | undefined => {
  const last = turn.findLast(({ type }) => type === 'message' || type === 'tool_ended')
  return last && isNudge(last, 'stop') ? wordsOf(turn) || undefined : undefined
}
