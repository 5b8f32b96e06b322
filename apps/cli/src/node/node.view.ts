import type { Delta, StreamItem } from '#sdk/index.js'
import type { Output } from '../output/output.js'
import { brief } from '../output/table.js'
import { eventLine } from './event.line.js'

type Text = Omit<Delta, 'offset'>

/** The live view of a node: text as it comes, and a line for each thing that happens. */
export class NodeView {
  readonly #out: Output
  readonly #root: string
  /** Characters shown of each piece of text in progress. */
  readonly #shown = new Map<string, number>()
  /** Nodes whose present message was shown while it was written. */
  readonly #written = new Set<string>()
  #midLine = false
  #speaker: string

  constructor(out: Output, root: string) {
    this.#out = out
    this.#root = root
    this.#speaker = root
  }

  show(item: StreamItem): void {
    const { type, data } = item
    const nodeId = String(data.node_id ?? (item as { subject?: unknown }).subject ?? this.#root)
    switch (type) {
      case 'snapshot':
        this.#introduce(data.node as Record<string, unknown> | undefined)
        return
      case 'delta':
        this.#text(nodeId, data as unknown as Text, (data as unknown as Delta).offset)
        return
      case 'message.snapshot':
        this.#text(nodeId, data as unknown as Text, 0)
        return
      case 'message.completed':
        this.#completed(nodeId, data)
        return
    }
    const line = eventLine(type, data, this.#out)
    if (line !== undefined) this.#line(nodeId, line)
  }

  /** Ends the line that is being written, if any. */
  rest(): void {
    if (this.#midLine) this.#out.line()
    this.#midLine = false
  }

  #introduce(node: Record<string, unknown> | undefined): void {
    if (!node || this.#shown.size || this.#written.size) return
    this.#line(
      this.#root,
      this.#out.paint('dim', `${brief(String(node.name))} (${node.status}, ${node.engine}) in ${node.cwd}`),
    )
  }

  /** What was shown of it before is left out: deltas may repeat a snapshot's end. */
  #text(nodeId: string, { channel, generation, message, call_id, text }: Text, offset: number): void {
    if (channel === 'tool_input') return
    const key = [nodeId, generation, message, channel, call_id].join(' ')
    const shown = this.#shown.get(key) ?? 0
    const fresh = text.slice(Math.max(0, shown - offset))
    if (fresh === '') return
    this.#shown.set(key, offset + text.length)
    this.#written.add(channel === 'text' || channel === 'stdout' ? nodeId : `${nodeId} ${call_id ?? channel}`)
    this.#speak(nodeId)
    this.#out.write(channel === 'text' || channel === 'stdout' ? fresh : this.#out.paint('dim', fresh))
    this.#midLine = !fresh.endsWith('\n')
  }

  #completed(nodeId: string, data: Record<string, unknown>): void {
    const live = this.#written.delete(nodeId)
    this.rest()
    if (live || data.role !== 'assistant') return
    const parts = (data.content ?? []) as readonly { type: string; text?: string }[]
    const text = parts.flatMap((part) => (part.type === 'text' && part.text ? [part.text] : [])).join('')
    if (text) this.#line(nodeId, text)
  }

  #line(nodeId: string, text: string): void {
    this.rest()
    this.#speak(nodeId)
    this.#out.line(text)
  }

  /** With a whole tree on one screen, says who speaks whenever that changes. */
  #speak(nodeId: string): void {
    if (nodeId === this.#speaker) return
    this.rest()
    this.#speaker = nodeId
    this.#out.line(this.#out.paint('cyan', `— ${nodeId}`))
  }
}
