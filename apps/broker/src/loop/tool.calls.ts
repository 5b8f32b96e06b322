import type { ContentPart, JournalEntry } from '#sdk/generated/types.js'

export type ToolCallPart = Extract<ContentPart, { type: 'tool_call' }>

/** Providers number their calls as they like; in the record a call's id is its own within its turn. */
export const withOwnCallIds = (
  content: readonly ContentPart[],
  turn: readonly JournalEntry[],
  step: number,
): ContentPart[] => {
  const taken = new Set(turn.flatMap((entry) => (entry.type === 'tool_started' ? [entry.call_id] : [])))
  return content.map((part) => {
    if (part.type !== 'tool_call') return part
    let call_id = part.call_id
    for (let copy = 1; taken.has(call_id); copy += 1) call_id = `${part.call_id}_${step}_${copy}`
    taken.add(call_id)
    return { ...part, call_id }
  })
}

export const callsOf = (content: readonly ContentPart[]): ToolCallPart[] =>
  content.filter((part) => part.type === 'tool_call')
