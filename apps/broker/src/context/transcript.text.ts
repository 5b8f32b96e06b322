import type { ContentPartInput as ContentPart, ConversationMessage } from '#sdk/generated/types.js'

/** Characters of one piece that are told, by what said it: tried in turn until the whole has room. */
const limits = [
  { said: 24_000, done: 6000 },
  { said: 12_000, done: 1500 },
  { said: 4000, done: 300 },
]

const cut = (text: string, most: number): string =>
  text.length <= most
    ? text
    : `${text.slice(0, Math.ceil(most * 0.7))}\n[… ${text.length - most} characters left out …]\n${text.slice(-Math.floor(most * 0.3))}`

const told = (part: ContentPart, role: string, { said, done }: { said: number; done: number }): string => {
  switch (part.type) {
    case 'text':
      return `<${role}>\n${cut(part.text, said)}\n</${role}>`
    case 'reasoning':
      return ''
    case 'image':
      return `<${role}>\n(an image)\n</${role}>`
    case 'tool_call':
      return `<call tool="${part.name}">\n${cut(JSON.stringify(part.input ?? null), done)}\n</call>`
    case 'tool_result':
      return `<result tool="${part.name}"${part.failed ? ' failed="true"' : ''}>\n${cut(part.output, done)}\n</result>`
  }
}

/** The beginning and the end of a list of texts, with what is missing between them said. */
const middleLeftOut = (pieces: readonly string[], room: number): string => {
  const head = cut(pieces[0] ?? '', Math.floor(room / 4))
  let left = room - head.length
  let from = pieces.length
  while (from > 1 && (pieces[from - 1] as string).length <= left) {
    from -= 1
    left -= (pieces[from] as string).length
  }
  const missing = from - 1
  return [
    head,
    ...(missing > 0 ? [`[… ${missing} pieces of the conversation left out …]`] : []),
    ...pieces.slice(from),
  ].join('\n')
}

/**
 * A conversation as one text, for a model that is to condense it: every provider takes that, whatever the conversation
 * holds. Never longer than `room` characters by much.
 */
export const transcriptOf = (messages: readonly ConversationMessage[], room: number): string => {
  let pieces: string[] = []
  for (const limit of limits) {
    pieces = messages.flatMap(({ role, content }) => content.map((part) => told(part, role, limit)).filter(Boolean))
    if (pieces.reduce((sum, piece) => sum + piece.length + 1, 0) <= room) return pieces.join('\n')
  }
  return middleLeftOut(pieces, room)
}
