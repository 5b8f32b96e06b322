import type { Delta } from '#common/contract/node.schema.js'

export interface PartInProgress {
  readonly generation: number
  readonly message: number
  readonly channel: Delta['channel']
  readonly call_id?: string
  readonly text: string
  /** Whether the beginning was dropped to stay within the bound. */
  readonly truncated: boolean
}

interface Part {
  generation: number
  message: number
  channel: Delta['channel']
  call_id: string | undefined
  /** Characters of the channel so far, dropped ones included. */
  length: number
  text: string
}

/** Characters kept of one part; the end of it, which is what a watcher who joins late wants. */
const partLimit = 128 * 1024
const partsPerNode = 64

const keyOf = (delta: Pick<Delta, 'message' | 'channel' | 'call_id'>): string =>
  `${delta.message}/${delta.channel}/${delta.call_id ?? ''}`

/**
 * Text of the messages that nodes are producing right now, for watchers who join late. In memory and bounded: after a
 * restart the broker is asked to send its text again.
 */
export class InProgressStore {
  private readonly nodes = new Map<string, Map<string, Part>>()

  /** Adds a delta. Answers false when some text before it is missing here, so that the broker must send all of it again. */
  append(nodeId: string, delta: Delta): boolean {
    const parts = this.partsOf(nodeId)
    const key = keyOf(delta)
    const known = parts.get(key)
    if (!known || known.generation !== delta.generation || delta.offset === 0) {
      if (delta.offset !== 0) return false
      parts.delete(key)
      parts.set(key, {
        generation: delta.generation,
        message: delta.message,
        channel: delta.channel,
        call_id: delta.call_id,
        length: delta.text.length,
        text: delta.text.slice(-partLimit),
      })
      this.trim(parts)
      return true
    }
    if (delta.offset > known.length) return false
    const fresh = delta.text.slice(known.length - delta.offset)
    known.length += fresh.length
    known.text = (known.text + fresh).slice(-partLimit)
    return true
  }

  /** What is in progress was recorded, or its process is gone. */
  clear(nodeId: string): void {
    this.nodes.delete(nodeId)
  }

  of(nodeId: string): PartInProgress[] {
    return [...(this.nodes.get(nodeId)?.values() ?? [])].map((part) => ({
      generation: part.generation,
      message: part.message,
      channel: part.channel,
      ...(part.call_id !== undefined && { call_id: part.call_id }),
      text: part.text,
      truncated: part.length > part.text.length,
    }))
  }

  isStreaming(nodeId: string): boolean {
    return (this.nodes.get(nodeId)?.size ?? 0) > 0
  }

  private partsOf(nodeId: string): Map<string, Part> {
    const known = this.nodes.get(nodeId)
    if (known) return known
    const parts = new Map<string, Part>()
    this.nodes.set(nodeId, parts)
    return parts
  }

  private trim(parts: Map<string, Part>): void {
    for (const key of parts.keys()) {
      if (parts.size <= partsPerNode) return
      parts.delete(key)
    }
  }
}
