import type { ContentPart, JournalEntry } from '#common/contract/broker.schema.js'
import type { NodeEventType } from '#common/contract/node.schema.js'

/** Characters of one text that an event carries; the journal has the whole. */
const eventText = 8000

const cut = (text: string): { text: string; truncated: boolean } =>
  text.length > eventText ? { text: text.slice(0, eventText), truncated: true } : { text, truncated: false }

const cutInput = (input: unknown): unknown => {
  const text = JSON.stringify(input) ?? ''
  return text.length > eventText ? { truncated: true, beginning: text.slice(0, eventText) } : input
}

const shown = (part: ContentPart): Record<string, unknown> => {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return { type: part.type, ...cut(part.text) }
    case 'image':
      return { type: part.type, content_type: part.content_type }
    case 'tool_call':
      return { type: part.type, call_id: part.call_id, name: part.name, input: cutInput(part.input) }
    case 'tool_result':
      return { type: part.type, call_id: part.call_id, name: part.name, ...cut(part.output) }
  }
}

/** Pieces of a message that an event shows, and characters of all of them together (about). */
const piecesShown = 64
const messageText = 64_000

const shownAll = (content: readonly ContentPart[]): Record<string, unknown>[] => {
  let room = messageText
  return content.slice(0, piecesShown).map((part) => {
    if (room <= 0) return { type: part.type, truncated: true }
    const piece = shown(part)
    room -= JSON.stringify(piece).length
    return piece
  })
}

interface Shown {
  readonly type: NodeEventType
  readonly data: Record<string, unknown>
}

/** What those who watch a node are told of a journal entry. */
export const eventsOf = (entry: JournalEntry): Shown[] => {
  const { turn } = entry
  switch (entry.type) {
    case 'turn_started':
      return [{ type: 'turn.started', data: { turn, mail: entry.mail } }]
    case 'message':
      return [
        {
          type: 'message.completed',
          data: {
            turn,
            step: entry.step,
            role: entry.role,
            model: entry.model ?? null,
            content: shownAll(entry.content),
            parts: entry.content.length,
          },
        },
      ]
    case 'tool_started':
      return [
        {
          type: 'tool.started',
          data: { turn, step: entry.step, call_id: entry.call_id, name: entry.name, input: cutInput(entry.input) },
        },
      ]
    case 'tool_ended': {
      const { text, truncated } = cut(entry.output)
      return [
        {
          type: 'tool.ended',
          data: {
            turn,
            step: entry.step,
            call_id: entry.call_id,
            name: entry.name,
            status: entry.status,
            output: text,
            truncated,
            ...(entry.images && { images: entry.images.map(({ content_type }) => ({ content_type })) }),
            exit_code: entry.exit_code ?? null,
            duration_ms: entry.duration_ms ?? null,
          },
        },
      ]
    }
    case 'compacted': {
      const { step, kept, summary } = entry
      return [{ type: 'context.compacted', data: { turn, step, kept, ...(summary === null ? {} : cut(summary)) } }]
    }
    case 'turn_ended':
      return [{ type: 'turn.ended', data: { turn, status: entry.status, fault: entry.fault ?? null } }]
  }
}
