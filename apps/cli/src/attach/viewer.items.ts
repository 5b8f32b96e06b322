import type { StreamItem } from '#sdk/index.js'

/** A line from the socket of a node's process. */
export type ViewerLine = Readonly<Record<string, unknown>> & { readonly type: string }

type Entry = Readonly<Record<string, unknown>> & { readonly type: string }

const names: Readonly<Record<string, string>> = {
  turn_started: 'turn.started',
  message: 'message.completed',
  tool_started: 'tool.started',
  tool_ended: 'tool.ended',
  turn_ended: 'turn.ended',
  compacted: 'context.compacted',
}

const recorded = (entry: Entry): StreamItem[] => {
  const { type, ...data } = entry
  const name = names[type]
  return name === undefined ? [] : [{ type: name, data }]
}

/** What the socket says, in the form in which the stream of a node says it, so that one view shows both. */
export class ViewerItems {
  /** Position of the last entry shown: a second welcome repeats what was there. */
  #last = 0

  of(line: ViewerLine): StreamItem[] {
    switch (line.type) {
      case 'welcome':
        return this.#welcome(line)
      case 'entry':
        return this.#entry(Number(line.ord), line.entry as Entry)
      case 'delta': {
        const { type: _, ...data } = line
        return [{ type: 'delta', data }]
      }
      default:
        return []
    }
  }

  #entry(ord: number, entry: Entry): StreamItem[] {
    if (ord <= this.#last) return []
    this.#last = ord
    return recorded(entry)
  }

  #welcome({ node, entries, progress }: ViewerLine): StreamItem[] {
    const shown = entries as readonly { readonly ord: number; readonly entry: Entry }[]
    const parts = progress as readonly Readonly<Record<string, unknown>>[]
    return [
      { type: 'snapshot', data: { node: { status: 'active', ...(node as object) } } },
      ...shown.flatMap(({ ord, entry }) => this.#entry(ord, entry)),
      ...parts.map((data) => ({ type: 'delta', data })),
    ]
  }
}
