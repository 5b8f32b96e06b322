import { Inject, Injectable, type OnModuleInit } from '@nestjs/common'
import type { FastifyReply } from 'fastify'
import type { InputOf, OutputOf } from '#common/contract/define.js'
import { contract } from '#common/contract/index.js'
import { Bus } from '#common/kernel/bus/bus.js'
import { backoff, CLOCK, type Clock, pause } from '#common/kernel/clock.js'
import { type Context, systemContext } from '#common/kernel/context.js'
import { isSvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { problemOf } from '../http/problem.js'
import { frameOf, positionFrame } from './frames.js'
import { LiveTail } from './live.tail.js'
import type { SseClient } from './sse.client.js'
import { SseClients } from './sse.clients.js'
import { Wake } from './wake.js'

const read = contract['lifecycle.canvas.readEvents']
type Input = InputOf<(typeof contract)['canvas.events']>
type Page = OutputOf<typeof read>
type Wanted = Pick<Input, 'types' | 'under'>

const pageSize = 200
/** How often (ms) a stream looks although nothing was heard: the tail may have lost the last message. */
const netEvery = 3000
/** A stream reads at most this often (ms): what comes faster comes together. */
const gather = 30

/**
 * What all nodes did, by pages or as it happens. A stream is pulled from the rows at the pace of its client, so that
 * nothing is kept for a slow one; the tail only says when to look.
 */
@Injectable()
export class CanvasWatch implements OnModuleInit {
  readonly #waiting = new Set<(type?: string) => void>()

  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(LiveTail) private readonly tail: LiveTail,
    @Inject(SseClients) private readonly clients: SseClients,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  onModuleInit(): void {
    this.tail.listen({
      onEvent: ({ type }) => this.#tell(type),
      onMissed: () => this.#tell(),
    })
  }

  /** Streams that are open. */
  get followers(): number {
    return this.#waiting.size
  }

  /** @throws SvcError `not_found`, `cursor_expired`, `malformed_request`. */
  async page(ctx: Context, { limit, ...input }: Input): Promise<unknown> {
    const { events, position, more } = await this.#read(ctx, { ...input, limit, from: 'oldest' })
    return { data: events.map(({ position: _, ...event }) => event), next_cursor: position, has_more: more }
  }

  /** From now on, or after `after` or from `since` on, for as long as the client stays. Errors as of `page`. */
  async events(ctx: Context, { limit: _, ...input }: Input, reply: FastifyReply): Promise<void> {
    this.clients.requireRoom()
    // who listens first can't miss what comes between
    const wake = new Wake()
    const hear = (type?: string): void => {
      if (type === undefined || !input.types || (input.types as readonly string[]).includes(type)) wake.now()
    }
    this.#waiting.add(hear)
    try {
      const first = await this.#read(ctx, { ...input, limit: pageSize, from: 'now' })
      const client = this.clients.open(reply)
      client.over.signal.addEventListener('abort', () => wake.now(), { once: true })
      const { actor, requestId } = ctx
      const own = { ...systemContext('gateway', client.over.signal), actor, requestId }
      await this.#follow(own, client, first, input, wake)
    } finally {
      this.#waiting.delete(hear)
    }
  }

  async #follow(ctx: Context, client: SseClient, first: Page, { types, under }: Wanted, wake: Wake): Promise<void> {
    let page = first
    try {
      for (let readAt = this.clock.monotonic(); client.isOpen; readAt = this.clock.monotonic()) {
        await this.#show(client, page)
        if (!page.more) await this.#quiet(page, wake)
        const early = readAt + gather - this.clock.monotonic()
        if (!page.more && early > 0) await pause(this.clock, early, client.over.signal)
        if (!client.isOpen) return
        wake.clear()
        page = await this.#readInTheEnd(ctx, { types, under, after: page.position, limit: pageSize, from: 'now' })
      }
    } catch (error) {
      if (!client.isOpen) return
      this.log.warn({ err: error }, 'the stream of all events ends: its rows can’t be read')
      client.fail(frameOf({ event: 'error', data: problemOf(error, ctx.requestId).body }))
    }
  }

  async #show(client: SseClient, { events, position }: Page): Promise<void> {
    for (const { position: id, ...event } of events) await client.send(frameOf({ id, event: event.type, data: event }))
    // who comes back goes on from here, however little of what was looked at was for it
    if (events.at(-1)?.position !== position) await client.send(positionFrame(position))
  }

  /** Until there may be more: events that wait for an older transaction are asked for again soon. */
  async #quiet({ pending }: Page, wake: Wake): Promise<void> {
    const callOff = this.clock.after(pending ? gather : netEvery, () => wake.now())
    await wake.woken
    callOff()
  }

  #read(ctx: Context, input: Wanted & { after?: string; since?: string; limit: number; from: 'oldest' | 'now' }) {
    return this.bus.call(read, ctx, input)
  }

  /** Waits out whatever may pass: a restart of the writer, the bus or the database. */
  async #readInTheEnd(ctx: Context, input: Parameters<CanvasWatch['page']>[1] & { from: 'now' }): Promise<Page> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#read(ctx, input)
      } catch (error) {
        if (ctx.signal.aborted || (isSvcError(error) && !error.facts.retryable)) throw error
        await pause(this.clock, 20 + backoff(attempt, 50, 2000), ctx.signal)
      }
    }
  }

  #tell(type?: string): void {
    for (const hear of this.#waiting) hear(type)
  }
}
