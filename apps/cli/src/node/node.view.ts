import type { Delta, StreamItem } from '#sdk/index.js'
import type { Output } from '../output/output.js'
import { brief } from '../output/table.js'
import { eventLine } from './event.line.js'

type Text = Omit<Delta, 'offset'> & { readonly truncated?: boolean }

/** What was shown live of a message, or of the output of a tool's call. */
interface Live {
  /** Characters of it, as its event will hold them. */
  shown: number
  /** Whether its beginning was missing, so that the count says nothing. */
  partial: boolean
  readonly keys: Set<string>
}

/** The live view of a node: text as it comes, and a line for each thing that happens. */
export class NodeView {
  readonly #out: Output
  readonly #root: string
  /** Characters shown of each piece of text in progress. */
  readonly #shown = new Map<string, number>()
  /** By node what it says, by node and call what a tool prints. */
  readonly #live = new Map<string, Live>()
  /** Pieces whose event was shown: what comes late of them is known. */
  readonly #closed = new Set<string>()
  /** What each node said or printed last. */
  readonly #said = new Map<string, string>()
  readonly #names = new Map<string, string>()
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
    if (type === 'node.created') this.#names.set(nodeId, String(data.name))
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
      case 'tool.ended':
        this.#finish(`${nodeId} ${data.call_id}`, nodeId, printed(data), true)
        break
      case 'report.pushed':
        if (this.#said.get(nodeId) !== String(data.body).trim()) break
        this.#line(nodeId, `${this.#out.paint('green', `${data.kind} report`)}: as above`)
        return
    }
    const line = eventLine(type, data, this.#out, (id) => this.#names.get(id) ?? id)
    if (line !== undefined) this.#line(nodeId, line)
  }

  /** Ends the line that is being written, if any. */
  rest(): void {
    if (this.#midLine) this.#out.line()
    this.#midLine = false
  }

  #introduce(node: Record<string, unknown> | undefined): void {
    if (node) this.#names.set(this.#root, String(node.name))
    if (!node || this.#shown.size || this.#live.size) return
    this.#line(
      this.#root,
      this.#out.paint('dim', `${brief(String(node.name))} (${node.status}, ${node.engine}) in ${node.cwd}`),
    )
  }

  /** What was shown of it before is left out: deltas may repeat a snapshot's end. */
  #text(nodeId: string, { channel, generation, message, call_id, text, truncated }: Text, offset: number): void {
    if (channel === 'tool_input') return
    const key = [nodeId, generation, message, channel, call_id].join(' ')
    if (this.#closed.has(key)) return
    const shown = this.#shown.get(key) ?? 0
    const fresh = text.slice(Math.max(0, shown - offset))
    if (fresh === '') return
    this.#shown.set(key, offset + text.length)
    const piece = channel === 'text' ? nodeId : `${nodeId} ${call_id ?? channel}`
    const live = this.#live.get(piece) ?? { shown: 0, partial: false, keys: new Set() }
    live.shown += fresh.length
    live.partial ||= truncated === true || offset > shown
    live.keys.add(key)
    this.#live.set(piece, live)
    this.#say(nodeId, fresh, channel !== 'text' && channel !== 'stdout')
  }

  #say(nodeId: string, text: string, quiet: boolean): void {
    this.#speak(nodeId)
    this.#out.write(quiet ? this.#out.paint('dim', text) : text)
    this.#midLine = !text.endsWith('\n')
  }

  /** The whole is known: shows what is missing of it, and nothing of it any more. */
  #finish(piece: string, nodeId: string, whole: string | undefined, quiet: boolean): void {
    const live = this.#live.get(piece)
    this.#live.delete(piece)
    for (const key of live?.keys ?? []) this.#closed.add(key)
    const rest = live?.partial ? '' : (whole?.slice(live?.shown ?? 0) ?? '')
    if (rest.trim()) this.#say(nodeId, rest, quiet)
    if (whole?.trim() && !live?.partial) this.#said.set(nodeId, whole.trim())
    this.rest()
  }

  #completed(nodeId: string, data: Record<string, unknown>): void {
    if (data.role !== 'assistant') {
      this.rest()
      return
    }
    const parts = (data.content ?? []) as readonly { type: string; text?: string }[]
    const text = parts.flatMap((part) => (part.type === 'text' && part.text ? [part.text] : [])).join('')
    this.#finish(nodeId, nodeId, text, false)
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
    const name = this.#names.get(nodeId)
    this.#out.line(this.#out.paint('cyan', `— ${name === undefined ? nodeId : `${brief(name, 40)} (${nodeId})`}`))
  }
}

/** What a program printed, as far as its event holds it; other tools answer the model alone. */
const printed = ({ name, output, truncated }: Record<string, unknown>): string | undefined =>
  (name === 'bash' || name === 'exec') && truncated !== true && typeof output === 'string' ? output : undefined
