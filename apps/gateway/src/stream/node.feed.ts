import type { JobChunk } from '#common/contract/job.schema.js'
import type { Delta } from '#common/contract/node.schema.js'
import type { Clock } from '#common/kernel/clock.js'
import { type EventSource, type EventTarget, type PartInProgress, type RecordedEvent } from './event.source.js'
import { deltaEntry, eventEntry, type FeedEntry, jobEntry, textEntry } from './feed.entry.js'
import { TextOffsets } from './text.offsets.js'

/** Somebody to whom a feed hands out what happens. */
export interface FeedMember {
  /** Whether it is shown deltas. */
  readonly deltas: boolean
  take(entry: FeedEntry): void
  /** The feed found its first position. */
  joinedAt(position: number): void
  /** Ends it: the resource is gone, or the writer refuses to say more. */
  fail(frame: Buffer): void
  /** Ends it: the node has ended and all that it did was handed out. */
  settle(): void
}

const endings: readonly string[] = ['node.done', 'node.dead', 'node.canceled']

/** How long a node that ended must be silent before its streams end: its process may still have a last word (ms). */
const quietFor = 1000

export interface FeedOptions {
  readonly target: EventTarget
  readonly source: EventSource
  readonly clock: Clock
  /** Hears of a reader that can't be served any longer. */
  readonly onRefused: (reader: FeedMember, error: unknown) => void
  /** Hears that the text of messages in progress couldn't be had; the next delta asks again. */
  readonly onTextMissing: (error: unknown) => void
  readonly onEmpty: () => void
}

/**
 * The events of one node, or of a tree, as they happen, for everybody in this process who watches them.
 *
 * The tail may lose messages, double them or bring them out of order; the rows don't. An event that continues the
 * sequence is handed out as it comes; anything else makes the feed read the rows.
 */
export class NodeFeed {
  readonly #readers = new Set<FeedMember>()
  readonly #closed = new AbortController()
  readonly #offsets = new TextOffsets()
  readonly #repairing = new Map<string, Delta[]>()
  #position: number | undefined
  /** Monotonic ms of the last event handed out, or of the beginning. */
  #lastAt = 0
  #heard = 0
  #reading = false
  #again = false

  constructor(private readonly options: FeedOptions) {}

  get target(): EventTarget {
    return this.options.target
  }

  /** All up to here was handed out; undefined before the first reader has read the rows. */
  get position(): number | undefined {
    return this.#position
  }

  add(reader: FeedMember): void {
    this.#readers.add(reader)
  }

  remove(reader: FeedMember): void {
    if (!this.#readers.delete(reader) || this.#readers.size > 0) return
    this.#closed.abort()
    this.options.onEmpty()
  }

  refuse(reader: FeedMember, error: unknown): void {
    this.options.onRefused(reader, error)
  }

  /** A reader has read all rows up to `position`: the feed goes on from there, unless it is further already. */
  begin(position: number): void {
    if (this.#position !== undefined) return
    this.#position = position
    this.#mayEndSoon()
    for (const reader of this.#readers) reader.joinedAt(position)
    if (this.#heard > position) this.check()
  }

  /** An event from the tail. */
  hear(event: RecordedEvent): void {
    const seq = this.target.tree ? event.tree_seq : event.seq
    if (this.#position === undefined) this.#heard = Math.max(this.#heard, seq)
    else if (seq <= this.#position) return
    else if (!this.#reading && seq === this.#position + 1) this.#hand(event)
    else {
      this.#heard = Math.max(this.#heard, seq)
      this.check()
    }
  }

  /** A reader was shown the text in progress as it joined: deltas that continue it are no gap. */
  supposeText(nodeId: string, parts: readonly PartInProgress[]): void {
    for (const part of parts) this.#offsets.suppose(nodeId, part)
  }

  /** Deltas from the tail. */
  hearDeltas(nodeId: string, deltas: readonly Delta[]): void {
    if (![...this.#readers].some((reader) => reader.deltas)) return
    for (const delta of deltas) this.#handDelta(nodeId, delta)
  }

  /** Output of background jobs from the tail. It is never repaired: who misses some reads the file. */
  hearJobs(nodeId: string, chunks: readonly JobChunk[]): void {
    if (![...this.#readers].some((reader) => reader.deltas)) return
    for (const chunk of chunks) this.#give(jobEntry(nodeId, chunk, this.#position ?? 0))
  }

  /** Reads the rows after the position: after a hole, a reconnect, and now and then as the net. */
  check(): void {
    if (this.#position === undefined || this.#readers.size === 0) return
    this.#again = true
    if (this.#reading) return
    this.#reading = true
    this.#catchUp()
      .catch((error: unknown) => {
        if (!this.#closed.signal.aborted) for (const reader of [...this.#readers]) this.refuse(reader, error)
      })
      .finally(() => {
        this.#reading = false
      })
  }

  async #catchUp(): Promise<void> {
    while (this.#again) {
      this.#again = false
      const page = await this.options.source.pageInTheEnd(this.target, this.#position ?? 0, this.#closed.signal)
      for (const event of page.events) this.#hand(event)
      // a page may be short of its limit where events are large
      if (page.head > (this.#position ?? 0)) this.#again = true
      else if (page.settled && page.head === this.#position) this.#settle()
    }
  }

  /** What is said of a root is not said of its tree, which goes on as long as any of its nodes does. */
  #settle(): void {
    const { clock } = this.options
    if (this.target.tree || clock.monotonic() - this.#lastAt < quietFor) return
    for (const reader of [...this.#readers]) reader.settle()
  }

  #mayEndSoon(): void {
    const { clock } = this.options
    this.#lastAt = clock.monotonic()
    clock.after(quietFor + 10, () => this.check())
  }

  #hand(event: RecordedEvent): void {
    const entry = eventEntry(event, this.target.tree)
    if (entry.seq <= (this.#position ?? 0)) return
    this.#position = entry.seq
    this.#give(entry)
    if (endings.includes(event.type) && event.subject === this.target.id) this.#mayEndSoon()
    else this.#lastAt = this.options.clock.monotonic()
  }

  #give(entry: FeedEntry): void {
    for (const reader of this.#readers) reader.take(entry)
  }

  #handDelta(nodeId: string, delta: Delta): void {
    const waiting = this.#repairing.get(nodeId)
    if (waiting) {
      if (waiting.length < 500) waiting.push(delta)
      return
    }
    const fresh = this.#offsets.advance(nodeId, delta)
    if (fresh === null) return
    if (fresh === 'gap') this.#repair(nodeId, delta)
    else this.#give(deltaEntry(nodeId, fresh, this.#position ?? 0))
  }

  /** Deltas were missed: everybody is shown the text so far, then it goes on. */
  #repair(nodeId: string, delta: Delta): void {
    const waiting = [delta]
    this.#repairing.set(nodeId, waiting)
    this.options.source
      .inProgress(nodeId, this.#closed.signal)
      .then((parts) => {
        for (const part of parts) {
          this.#offsets.learn(nodeId, part)
          this.#give(textEntry(nodeId, part, this.#position ?? 0))
        }
      })
      .catch((error: unknown) => this.options.onTextMissing(error))
      .finally(() => {
        this.#repairing.delete(nodeId)
        for (const late of waiting) {
          const fresh = this.#offsets.advance(nodeId, late)
          if (fresh !== null && fresh !== 'gap') this.#give(deltaEntry(nodeId, fresh, this.#position ?? 0))
        }
      })
  }
}
