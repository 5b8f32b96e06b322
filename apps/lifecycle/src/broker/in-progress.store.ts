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

/** What the process that hosts a node now is producing. */
interface Producing {
  readonly generation: number
  readonly rootId: string
  readonly parts: Map<string, Part>
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
/** Characters and parts kept of one node; the oldest parts go first. */
const nodeLimit = 256 * 1024
const partsPerNode = 64

const keyOf = (delta: Pick<Delta, 'message' | 'channel' | 'call_id'>): string =>
  `${delta.message}/${delta.channel}/${delta.call_id ?? ''}`

/**
 * Text of the messages that nodes are producing right now, for watchers who join late. In memory and bounded: after a
 * restart the broker is asked to send its text again.
 */
export class InProgressStore {
  private readonly nodes = new Map<string, Producing>()

  /** The process that may append for a node. What an older one left is dropped. */
  open(nodeId: string, generation: number, rootId: string): void {
    if (this.nodes.get(nodeId)?.generation === generation) return
    this.nodes.set(nodeId, { generation, rootId, parts: new Map() })
  }

  /** Root of the node's tree, when this generation was let in and is still the one that hosts it. */
  rootOf(nodeId: string, generation: number | undefined): string | undefined {
    const known = this.nodes.get(nodeId)
    return known?.generation === generation ? known?.rootId : undefined
  }

  /** Adds a delta. Answers false when some text before it is missing here, so that the broker must send all of it again. */
  append(nodeId: string, delta: Delta): boolean {
    const parts = this.nodes.get(nodeId)?.parts
    if (!parts) return false
    const key = keyOf(delta)
    const known = parts.get(key)
    if (!known || delta.offset === 0) {
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
    this.trim(parts)
    return true
  }

  /** What is in progress was recorded. */
  clear(nodeId: string): void {
    this.nodes.get(nodeId)?.parts.clear()
  }

  /** The process that hosted the node is not to be heard any more. */
  close(nodeId: string): void {
    this.nodes.delete(nodeId)
  }

  /** This process is not the writer any more. */
  forget(): void {
    this.nodes.clear()
  }

  of(nodeId: string): PartInProgress[] {
    return [...(this.nodes.get(nodeId)?.parts.values() ?? [])].map((part) => ({
      generation: part.generation,
      message: part.message,
      channel: part.channel,
      ...(part.call_id !== undefined && { call_id: part.call_id }),
      text: part.text,
      truncated: part.length > part.text.length,
    }))
  }

  isStreaming(nodeId: string): boolean {
    return (this.nodes.get(nodeId)?.parts.size ?? 0) > 0
  }

  private trim(parts: Map<string, Part>): void {
    let kept = [...parts.values()].reduce((sum, part) => sum + part.text.length, 0)
    for (const [key, part] of parts) {
      if (parts.size <= partsPerNode && kept <= nodeLimit) return
      kept -= part.text.length
      parts.delete(key)
    }
  }
}
