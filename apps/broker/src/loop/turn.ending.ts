import type { Assignment, ContentPart, JournalEntry, LlmAnswer } from '#sdk/generated/types.js'
import { noteOf, type PartNote } from '../node/mail.text.js'

type Nudge = 'cut' | 'result' | 'report'

/** What follows when the model stops without calling a tool. */
export type Ending =
  | { readonly do: 'nudge'; readonly part: ContentPart }
  | { readonly do: 'end'; readonly final?: string }
  | { readonly do: 'fail'; readonly why: string }

const texts: Readonly<Record<Nudge, string>> = {
  cut: 'Your answer was cut off at the length limit. Go on where it ended, in smaller pieces.',
  result:
    "You stopped without handing in the result that you owe. Call submit_result with a value that fits its schema now; if you can't, give the closest value that fits.",
  report: 'You stopped without saying anything. Give your final report now, with the report tool (kind final).',
}

/** Answers that may be cut off in a row before the turn is given up. */
const cutsAllowed = 3

const nudge = (kind: Nudge): Ending => ({
  do: 'nudge',
  part: { type: 'text', text: texts[kind], provider_metadata: { svc: { nudge: kind } } satisfies PartNote },
})

const nudged = (turn: readonly JournalEntry[], kind: Nudge): number =>
  turn.filter((entry) => entry.type === 'message' && entry.content.some((part) => noteOf(part)?.nudge === kind)).length

const textOf = (content: readonly ContentPart[]): string =>
  content
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('')
    .trim()

/** @param turn the entries of this turn before the answer */
export const endingOf = (
  { lifecycle, result_schema }: Pick<Assignment, 'lifecycle' | 'result_schema'>,
  turn: readonly JournalEntry[],
  answer: Pick<LlmAnswer, 'content' | 'finish_reason'>,
): Ending => {
  if (answer.finish_reason === 'length') {
    return nudged(turn, 'cut') < cutsAllowed
      ? nudge('cut')
      : { do: 'fail', why: 'The model ran into its output limit again and again.' }
  }
  if (answer.finish_reason === 'content_filter')
    return { do: 'fail', why: 'The provider withheld the answer (content filter).' }
  if (result_schema) {
    return nudged(turn, 'result') === 0
      ? nudge('result')
      : { do: 'fail', why: 'The model stopped without submitting the result that this node owes.' }
  }
  if (lifecycle === 'resident') return { do: 'end' }
  const text = textOf(answer.content)
  if (text) return { do: 'end', final: text }
  return nudged(turn, 'report') === 0
    ? nudge('report')
    : { do: 'fail', why: 'The model stopped without a word, twice.' }
}
