import type { Delta } from '#common/contract/node.schema.js'
import { BoundedCache } from '../tokens/bounded.cache.js'
import type { PartInProgress } from './event.source.js'

type Named = Pick<Delta, 'generation' | 'message'> & { readonly channel: string; readonly call_id?: string | undefined }

const keyOf = (nodeId: string, part: Named): string =>
  [nodeId, part.generation, part.message, part.channel, part.call_id ?? ''].join('/')

/** How much of a text in progress is known: up to here, or at least that much when its beginning was dropped. */
interface Known {
  readonly length: number
  readonly atLeast: boolean
}

/** Messages in progress at once, of one feed. */
const capacity = 1000

/** How far each message in progress was handed out, so that a lost delta shows and a doubled one doesn't. */
export class TextOffsets {
  readonly #known = new BoundedCache<string, Known>(capacity)

  /**
   * What is new in a delta: all of it, the rest of it, nothing (null), or `gap` when text before it is missing. Counts
   * what it answers as handed out.
   */
  advance(nodeId: string, delta: Delta): Delta | null | 'gap' {
    const key = keyOf(nodeId, delta)
    const known = this.#known.get(key) ?? { length: 0, atLeast: false }
    const end = delta.offset + delta.text.length
    if (delta.offset > known.length && !known.atLeast) return 'gap'
    if (end <= known.length) return null
    this.#known.set(key, { length: end, atLeast: false })
    if (delta.offset >= known.length) return delta
    return { ...delta, offset: known.length, text: delta.text.slice(known.length - delta.offset) }
  }

  /** Somebody was shown this much; whoever else watches may be behind, so that what is known already stays. */
  suppose(nodeId: string, part: PartInProgress): void {
    if (this.#known.get(keyOf(nodeId, part)) === undefined) this.learn(nodeId, part)
  }

  /** A snapshot was handed out to all. */
  learn(nodeId: string, part: PartInProgress): void {
    this.#known.set(keyOf(nodeId, part), { length: part.text.length, atLeast: part.truncated })
  }
}
