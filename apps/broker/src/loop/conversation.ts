import type { ContentPart, ConversationMessage, JournalEntry } from '#sdk/generated/types.js'
import { noteOf } from '../node/mail.text.js'
import { withImagesThatFit } from './conversation.images.js'

type Ended = Extract<JournalEntry, { type: 'tool_ended' }>

const neverRan = 'This call was not carried out.'
const cutShort = '[The turn before this was interrupted before it was finished.]'

const keyOf = (turn: number, callId: string): string => `${turn}/${callId}`

/** Our own notes stay here; what a provider noted goes back to it. */
const shown = (part: ContentPart): ContentPart => {
  if (!noteOf(part) || part.type !== 'text') return part
  return { type: 'text', text: part.text }
}

const resultOf = (call: Extract<ContentPart, { type: 'tool_call' }>, ended: Ended | undefined): ContentPart => ({
  type: 'tool_result',
  call_id: call.call_id,
  name: call.name,
  output: ended?.output ?? neverRan,
  failed: ended?.status !== 'completed',
  ...(ended?.images && { images: ended.images }),
})

/**
 * The conversation that a journal records, as a provider takes it: every tool call is answered, right after the message
 * that made it, whether its end is known or not; turns that were interrupted say so.
 */
export const conversationOf = (journal: readonly JournalEntry[]): ConversationMessage[] => {
  const ends = new Map(
    journal.flatMap((entry) =>
      entry.type === 'tool_ended' ? [[keyOf(entry.turn, entry.call_id), entry] as const] : [],
    ),
  )
  const messages: ConversationMessage[] = []
  let interrupted = false
  for (const entry of journal) {
    switch (entry.type) {
      case 'turn_started': {
        const content = entry.content.map(shown)
        messages.push({ role: 'user', content: interrupted ? [{ type: 'text', text: cutShort }, ...content] : content })
        interrupted = false
        break
      }
      case 'message': {
        if (!entry.content.length) break
        messages.push({ role: entry.role, content: entry.content.map(shown) })
        const calls = entry.content.filter((part) => part.type === 'tool_call')
        if (calls.length)
          messages.push({
            role: 'tool',
            content: calls.map((call) => resultOf(call, ends.get(keyOf(entry.turn, call.call_id)))),
          })
        break
      }
      case 'turn_ended':
        interrupted = entry.status === 'interrupted'
        break
      case 'tool_started':
      case 'tool_ended':
        break
    }
  }
  return [...withImagesThatFit(messages)]
}
