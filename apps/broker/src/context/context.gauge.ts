import type { JournalEntry, LlmAnswer } from '#sdk/generated/types.js'
import { conversationOf } from '../loop/conversation.js'
import { lastCompactedAt } from './present.entries.js'
import { tokensOfEntry, tokensOfParts } from './token.estimate.js'

/** Of a model that no answer has told the window of. */
export const carefulWindow = 65_536

export interface Gauge {
  /** Of the conversation as the next call would send it, instructions and tools included. */
  readonly tokens: number
  /** Of instructions and tools, roughly. */
  readonly fixed: number
  /** That the model takes; undefined before its first answer. */
  readonly window: number | undefined
}

type Measured = NonNullable<Extract<JournalEntry, { type: 'message' }>['context']>

const measured = (entry: JournalEntry): Measured | undefined => (entry.type === 'message' ? entry.context : undefined)

/**
 * How full the context is: as the provider counted it with the newest answer, and a rough count of what came since.
 *
 * @param fixed tokens of instructions and tools, roughly
 */
export const gaugeOf = (journal: readonly JournalEntry[], fixed: number): Gauge => {
  const at = journal.findLastIndex((entry) => measured(entry) !== undefined)
  const known = at < 0 ? undefined : measured(journal[at] as JournalEntry)
  const window = known?.window
  if (known && at > lastCompactedAt(journal)) {
    return {
      window,
      fixed,
      tokens: journal.slice(at + 1).reduce((sum, entry) => sum + tokensOfEntry(entry), known.tokens),
    }
  }
  const told = conversationOf(journal).reduce((sum, { content }) => sum + tokensOfParts(content), 0)
  return { window, fixed, tokens: fixed + told }
}

/** What an answer tells of the context; providers that count nothing are helped out with a rough count. */
export const measureOf = ({ usage, context_window }: LlmAnswer, sent: number): { context?: Measured } =>
  context_window === undefined
    ? {}
    : {
        context: {
          tokens: usage.input_tokens > 0 ? usage.input_tokens + usage.output_tokens : sent,
          window: context_window,
        },
      }
