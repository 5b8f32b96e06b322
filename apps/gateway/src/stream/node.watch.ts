import { Inject, Injectable } from '@nestjs/common'
import type { FastifyReply } from 'fastify'
import type { InputOf } from '#common/contract/define.js'
import { contract } from '#common/contract/index.js'
import type { Node } from '#common/contract/node.schema.js'
import { Bus } from '#common/kernel/bus/bus.js'
import type { Context } from '#common/kernel/context.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { problemOf } from '../http/problem.js'
import { positionOf } from './event.cursor.js'
import { EventSource } from './event.source.js'
import { textEntry } from './feed.entry.js'
import { FeedHub } from './feed.hub.js'
import type { FeedReader } from './feed.reader.js'
import { frameOf } from './frames.js'
import type { SseClient } from './sse.client.js'
import { SseClients } from './sse.clients.js'

type EventsInput = InputOf<(typeof contract)['nodes.events']>
type StreamInput = InputOf<(typeof contract)['nodes.stream']>

/** What a node did, by pages or as it happens. That the caller may see the node is asked of the writer first. */
@Injectable()
export class NodeWatch {
  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(EventSource) private readonly source: EventSource,
    @Inject(FeedHub) private readonly hub: FeedHub,
    @Inject(SseClients) private readonly clients: SseClients,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  /** One page of events, oldest first. @throws SvcError `not_found`, `cursor_expired`, `malformed_request`. */
  async page(ctx: Context, { id, after, limit }: EventsInput): Promise<unknown> {
    const position = positionOf(after) ?? 0
    await this.#permitted(ctx, id)
    const { events, head } = await this.source.page({ id, tree: false }, position, limit, ctx.signal)
    const last = events.at(-1)?.seq
    return {
      data: events.map(({ tree_seq: _, ...event }) => event),
      next_cursor: last === undefined ? null : String(last),
      has_more: last !== undefined && last < head,
    }
  }

  /** Every event after `after`, from the first one unless given, and then as they happen. Errors as of `page`. */
  async events(ctx: Context, { id, after }: EventsInput, reply: FastifyReply): Promise<void> {
    this.clients.requireRoom()
    const position = positionOf(after) ?? 0
    await this.#permitted(ctx, id)
    const reader = this.hub.join({ id, tree: false }, { after: position, deltas: false })
    await this.#serve(ctx, reader, async () => {
      const first = await this.source.page(reader.target, position, undefined, ctx.signal)
      const client = this.clients.open(reply)
      return { client, following: reader.follow(client, first) }
    })
  }

  /** The node and its text in progress, then events after `after`, from now on unless given, and deltas. */
  async stream(ctx: Context, { id, after, tree = false }: StreamInput, reply: FastifyReply): Promise<void> {
    this.clients.requireRoom()
    const given = positionOf(after)
    const { root_id: rootId } = await this.#permitted(ctx, id)
    const target = { id: tree ? rootId : id, tree }
    const position = given ?? (await this.source.page(target, 0, 1, ctx.signal)).head
    const members = tree && id !== rootId ? await this.#below(ctx, id) : undefined
    const reader = this.hub.join(target, { after: position, deltas: true, ...(members && { members }) })
    await this.#serve(ctx, reader, async () => {
      const [first, node, parts] = await Promise.all([
        this.source.page(reader.target, position, undefined, ctx.signal),
        this.#permitted(ctx, id),
        this.source.inProgress(id, ctx.signal),
      ])
      const client = this.clients.open(reply)
      client.push(frameOf({ id: String(position), event: 'snapshot', data: { type: 'snapshot', data: { node } } }))
      for (const part of parts) client.push(textEntry(id, part, position).frame)
      return { client, following: reader.follow(client, first, { nodeId: id, parts }) }
    })
  }

  #permitted(ctx: Context, id: string): Promise<Node> {
    return this.bus.call(contract['nodes.retrieve'], ctx, { id })
  }

  /** The nodes at or below one, as of now. */
  async #below(ctx: Context, id: string): Promise<Set<string>> {
    const members = new Set([id])
    for (let after: string | undefined, more = true; more; ) {
      const page = await this.bus.call(contract['nodes.list'], ctx, { under: id, limit: 200, ...(after && { after }) })
      for (const node of page.data) members.add(node.id)
      after = page.next_cursor ?? undefined
      more = page.has_more && after !== undefined
    }
    return members
  }

  /** The reader leaves when its client does, or when there was no answer at all. */
  async #serve(
    ctx: Context,
    reader: FeedReader,
    open: () => Promise<{ client: SseClient; following: Promise<void> }>,
  ): Promise<void> {
    let opened: Awaited<ReturnType<typeof open>>
    try {
      opened = await open()
    } catch (error) {
      reader.leave()
      throw error
    }
    const { client, following } = opened
    const { signal } = client.over
    if (signal.aborted) reader.leave()
    else signal.addEventListener('abort', () => reader.leave(), { once: true })
    following.catch((err: unknown) => {
      if (signal.aborted) return
      this.log.warn({ err, request_id: ctx.requestId }, 'a stream of events ends: its rows can’t be read')
      client.fail(frameOf({ event: 'error', data: problemOf(err, ctx.requestId).body }))
    })
  }
}
