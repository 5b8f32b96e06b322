import type { ContentPart, ConversationMessage, JournalEntry } from '#sdk/generated/types.js'
import { elided } from '../context/elision.js'
import { presentOf } from '../context/present.entries.js'
import { noteOf } from '../node/mail.text.js'
import { imageLeftOut, withImagesThatFit } from './conversation.images.js'

type Ended = Extract<JournalEntry, { type: 'tool_ended' }>

const neverRan = 'This call was not carried out.'
const cutShort = '[The turn before this was interrupted before it was finished.]'

const keyOf = (turn: number, callId: string): string => `${turn}/${callId}`

/** Our own notes stay here; what a provider noted goes back to it. */
const shown = (part: ContentPart): ContentPart => {
  if (!noteOf(part) || part.type !== 'text') return part
  return { type: 'text', text: part.text }
}

const resultOf = (
  call: Extract<ContentPart, { type: 'tool_call' }>,
  ended: Ended | undefined,
  old: boolean,
): ContentPart => {
  const output = ended?.output ?? neverRan
  return {
    type: 'tool_result',
    call_id: call.call_id,
    name: call.name,
    output: old ? elided(output) + (ended?.images?.length ? `\n${imageLeftOut}` : '') : output,
    failed: ended?.status !== 'completed',
    ...(ended?.images && !old && { images: ended.images }),
  }
}

/** Characters of one text of a context's first message that stay beside a summary. */
const openingText = 16_384

const opened = (part: ContentPart): ContentPart => {
  if (part.type !== 'text' || part.text.length <= openingText) return shown(part)
  return {
    type: 'text',
    text: `${part.text.slice(0, openingText)}\n[… ${part.text.length - openingText} more characters …]`,
  }
}

/** What a context began with, and what stands for all that came after it. */
const condensed = (journal: readonly JournalEntry[], summary: string): ConversationMessage => {
  const first = journal.find((entry) => entry.type === 'turn_started')
  const text = `[What came after this was condensed to make room in your context. You wrote this for yourself:]\n${summary}`
  return { role: 'user', content: [...(first?.content.map(opened) ?? []), { type: 'text', text }] }
}

/**
 * The conversation that a journal records, as a provider takes it: every tool call is answered, right after the message
 * that made it, whether its end is known or not; turns that were interrupted say so. What was made smaller is told so.
 */
export const conversationOf = (journal: readonly JournalEntry[]): ConversationMessage[] => {
  const ends = new Map(
    journal.flatMap((entry) =>
      entry.type === 'tool_ended' ? [[keyOf(entry.turn, entry.call_id), entry] as const] : [],
    ),
  )
  const { from, summary, elided: until } = presentOf(journal)
  const messages: ConversationMessage[] = summary === undefined ? [] : [condensed(journal, summary)]
  const before = journal.slice(0, from).findLast(({ type }) => type === 'turn_ended')
  let interrupted =
    before?.type === 'turn_ended' && before.status === 'interrupted' && journal[from]?.type === 'turn_started'
  for (const [at, entry] of journal.entries()) {
    if (at < from) continue
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
            content: calls.map((call) => resultOf(call, ends.get(keyOf(entry.turn, call.call_id)), at < until)),
          })
        break
      }
      case 'turn_ended':
        interrupted = entry.status === 'interrupted'
        break
      case 'compacted':
      case 'tool_started':
      case 'tool_ended':
        break
    }
  }
  return [...withImagesThatFit(messages)]
}
