import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { problemOf } from '../http/problem.js'
import { EventSource, type EventTarget } from './event.source.js'
import { FeedReader, type ReaderOptions } from './feed.reader.js'
import { frameOf } from './frames.js'
import { LiveTail, type TailDeltas, type TailEvent } from './live.tail.js'
import { NodeFeed } from './node.feed.js'

/** How often the rows are read although the tail is silent: it may have lost the last message (ms). */
const netEvery = 3000

/** The live tail, spread to the feeds that somebody watches. */
@Injectable()
export class FeedHub implements OnModuleInit, OnModuleDestroy {
  readonly #ofNode = new Map<string, NodeFeed>()
  readonly #ofRoot = new Map<string, NodeFeed>()
  #callOff: (() => void) | undefined

  constructor(
    @Inject(LiveTail) private readonly tail: LiveTail,
    @Inject(EventSource) private readonly source: EventSource,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  onModuleInit(): void {
    this.tail.listen({
      onEvent: (event) => this.#onEvent(event),
      onDeltas: (deltas) => this.#onDeltas(deltas),
      onMissed: () => this.#checkAll(),
    })
    const net = (): void => {
      this.#checkAll()
      this.#callOff = this.clock.after(netEvery, net)
    }
    this.#callOff = this.clock.after(netEvery, net)
  }

  onModuleDestroy(): void {
    this.#callOff?.()
  }

  get feeds(): number {
    return this.#all().length
  }

  /** A reader that hears from now on what comes after `after`; it must `leave` in the end. */
  join(target: EventTarget, view: Pick<ReaderOptions, 'after' | 'deltas' | 'members'>): FeedReader {
    return new FeedReader({ ...view, feed: this.#feedOf(target), source: this.source })
  }

  #feedOf(target: EventTarget): NodeFeed {
    const { id, tree } = target
    const feeds = tree ? this.#ofRoot : this.#ofNode
    const known = feeds.get(id)
    if (known) return known
    const feed = new NodeFeed({
      target,
      source: this.source,
      clock: this.clock,
      onRefused: (reader, error) => {
        this.log.warn({ err: error, node_id: id }, 'a stream of events ends: its rows can’t be read')
        reader.fail(frameOf({ event: 'error', data: problemOf(error, '').body }))
      },
      onTextMissing: (err) => this.log.debug({ err, node_id: id }, 'the text in progress could not be read'),
      onEmpty: () => {
        if (feeds.get(id) === feed) feeds.delete(id)
      },
    })
    feeds.set(id, feed)
    return feed
  }

  #onEvent({ root_id: rootId, ...event }: TailEvent): void {
    this.#ofNode.get(event.subject)?.hear(event)
    this.#ofRoot.get(rootId)?.hear(event)
  }

  #onDeltas({ node_id: nodeId, root_id: rootId, deltas, jobs = [] }: TailDeltas): void {
    for (const feed of [this.#ofNode.get(nodeId), this.#ofRoot.get(rootId)]) {
      feed?.hearDeltas(nodeId, deltas)
      feed?.hearJobs(nodeId, jobs)
    }
  }

  #all(): NodeFeed[] {
    return [...this.#ofNode.values(), ...this.#ofRoot.values()]
  }

  #checkAll(): void {
    for (const feed of this.#all()) feed.check()
  }
}
