import type { ContentPart, JournalEntry } from '#common/contract/broker.schema.js'
import type { PassageKind } from '#common/contract/history.schema.js'

/** One text of a journal entry. */
export interface EntryText {
  readonly kind: PassageKind
  readonly label: string | null
  readonly text: string
}

const inputText = (input: unknown): string => {
  if (typeof input === 'string') return input
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return JSON.stringify(input) ?? ''
  // texts of several lines stay lines
  return Object.entries(input)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : (JSON.stringify(value) ?? '')}`)
    .join('\n')
}

const textOf = (part: ContentPart, kind: PassageKind): EntryText[] => {
  switch (part.type) {
    case 'text':
      return [{ kind, label: null, text: part.text }]
    case 'reasoning':
      return [{ kind: 'reasoning', label: null, text: part.text }]
    // stand in the entries of the calls themselves
    case 'tool_call':
    case 'tool_result':
    case 'image':
      return []
  }
}

/** What a journal entry says, in the order in which it says it. */
export const textsOf = (entry: JournalEntry): EntryText[] => {
  switch (entry.type) {
    case 'turn_started':
      return entry.content.flatMap((part) => textOf(part, 'user'))
    case 'message':
      return entry.content.flatMap((part) => textOf(part, entry.role))
    case 'tool_started':
      return [{ kind: 'tool', label: entry.name, text: inputText(entry.input) }]
    case 'tool_ended':
      return [{ kind: 'tool', label: entry.name, text: entry.output }]
    // tells again what stands in the entries before it
    case 'compacted':
      return []
    case 'turn_ended':
      return entry.fault ? [{ kind: 'tool', label: `fault: ${entry.fault.kind}`, text: entry.fault.message }] : []
  }
}

/** The same for the index: what a turn began with is found as the mail that it took in, once. */
export const indexedTextsOf = (entry: JournalEntry): EntryText[] =>
  entry.type === 'turn_ended' || (entry.type === 'turn_started' && entry.mail.length > 0) ? [] : textsOf(entry)
