import { type EventPage, type EventSource, type EventTarget, type PartInProgress } from './event.source.js'
import { deltaEntry, eventEntry, type FeedEntry } from './feed.entry.js'
import type { FeedMember, NodeFeed } from './node.feed.js'
import type { SseClient } from './sse.client.js'
import { TextOffsets } from './text.offsets.js'

/** Entries that wait while a reader catches up; beyond that it reads them from the rows instead. */
const backlogLimit = 1000

export interface ReaderOptions {
  readonly feed: NodeFeed
  readonly source: EventSource
  /** The last event that the client has. */
  readonly after: number
  /** Whether it is shown deltas too. */
  readonly deltas: boolean
  /** Of a part of a tree: the nodes that are shown. Those made below them join by themselves. */
  readonly members?: Set<string>
}

/** Text in progress of one node. */
export interface TextShown {
  readonly nodeId: string
  readonly parts: readonly PartInProgress[]
}
const nothingShown: TextShown = { nodeId: '', parts: [] }

/**
 * One client of a feed. It listens first, then reads the rows after its position, then goes on with what it heard
 * meanwhile: each event once, in order, none left out.
 */
export class FeedReader implements FeedMember {
  readonly target: EventTarget
  readonly deltas: boolean
  #cursor: number
  #backlog: FeedEntry[] | undefined = []
  /** Rows up to here must be read before the backlog continues them. */
  #joined: number | undefined
  #client: SseClient | undefined
  readonly #shown = new TextOffsets()

  constructor(private readonly options: ReaderOptions) {
    this.target = options.feed.target
    this.deltas = options.deltas
    this.#cursor = options.after
    this.#joined = options.feed.position
    options.feed.add(this)
  }

  take(entry: FeedEntry): void {
    if (!this.#backlog) this.#show(entry)
    else if (this.#backlog.length < backlogLimit) this.#backlog.push(entry)
    else {
      this.#backlog = []
      this.#joined = entry.kind === 'event' ? entry.seq : this.options.feed.position
    }
  }

  joinedAt(position: number): void {
    if (this.#backlog) this.#joined ??= position
  }

  fail(frame: Buffer): void {
    this.#client?.fail(frame)
  }

  settle(): void {
    if (!this.#backlog) this.#client?.end('settled')
  }

  leave(): void {
    this.options.feed.remove(this)
  }

  /**
   * Writes the rows after the client's position, then what happens from now on. Resolves when it is up to date.
   *
   * @param first the first page, read before the answer began.
   * @param shown text that the client was sent already.
   */
  async follow(client: SseClient, first: EventPage, { nodeId, parts }: TextShown = nothingShown): Promise<void> {
    this.#client = client
    for (const part of parts) this.#shown.learn(nodeId, part)
    this.options.feed.supposeText(nodeId, parts)
    await this.#catchUp(client, first)
  }

  async #catchUp(client: SseClient, first?: EventPage): Promise<void> {
    const { source, feed } = this.options
    let page = first ?? (await source.pageInTheEnd(this.target, this.#cursor, client.over.signal))
    for (;;) {
      for (const event of page.events) {
        const entry = eventEntry(event, this.target.tree)
        if (entry.seq <= this.#cursor) continue
        this.#cursor = entry.seq
        if (this.#isShown(entry)) await client.send(entry.frame)
      }
      if (!client.isOpen) return
      if (this.#cursor >= page.head) {
        feed.begin(this.#cursor)
        if (this.#cursor >= (this.#joined ?? 0)) break
      }
      page = await source.pageInTheEnd(this.target, this.#cursor, client.over.signal)
    }
    const backlog = this.#backlog ?? []
    this.#backlog = undefined
    for (const entry of backlog) this.#resume(entry)
  }

  /** Text in progress may have been shown already, in part, by the snapshot. */
  #resume(entry: FeedEntry): void {
    if (entry.kind !== 'delta') {
      this.take(entry)
      return
    }
    const rest = this.#shown.advance(entry.nodeId, entry.delta)
    if (rest === null) return
    this.take(rest === 'gap' || rest === entry.delta ? entry : deltaEntry(entry.nodeId, rest, entry.seq))
  }

  #isShown({ nodeId, parentId }: { readonly nodeId: string; readonly parentId?: string | undefined }): boolean {
    const { members } = this.options
    if (!members) return true
    if (parentId !== undefined && members.has(parentId)) members.add(nodeId)
    return members.has(nodeId)
  }

  #show(entry: FeedEntry): void {
    const client = this.#client
    if (!client) return
    if (entry.kind !== 'event') {
      if (this.deltas && this.#isShown(entry)) client.push(entry.frame)
    } else if (entry.seq === this.#cursor + 1) {
      this.#cursor = entry.seq
      if (this.#isShown(entry)) client.push(entry.frame)
    } else if (entry.seq > this.#cursor) {
      this.#rejoin(client, entry)
    }
  }

  /** Something was handed out past this reader: read the rows again. */
  #rejoin(client: SseClient, entry: FeedEntry & { kind: 'event' }): void {
    this.#backlog = [entry]
    this.#joined = entry.seq
    this.#catchUp(client).catch((error: unknown) => this.options.feed.refuse(this, error))
  }
}
