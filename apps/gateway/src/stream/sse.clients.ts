import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import type { FastifyReply } from 'fastify'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { SvcError } from '#common/kernel/errors.js'
import { type RequestState, stateOf } from '../http/request.state.js'
import { streamHeaders } from './frames.js'
import { SseClient } from './sse.client.js'

const beatEvery = 10_000

/** All open streams of this gateway. */
@Injectable()
export class SseClients implements OnModuleInit, OnModuleDestroy {
  readonly #clients = new Map<SseClient, RequestState>()
  #watchers = 0
  #callOff: (() => void) | undefined

  constructor(
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onModuleInit(): void {
    const beat = (): void => {
      for (const client of this.#clients.keys()) client.beat()
      this.#callOff = this.clock.after(beatEvery, beat)
    }
    this.#callOff = this.clock.after(beatEvery, beat)
  }

  onModuleDestroy(): void {
    this.#callOff?.()
    this.endAll('draining')
  }

  get size(): number {
    return this.#clients.size
  }

  /** Each open stream with the request that opened it. */
  entries(): readonly (readonly [SseClient, RequestState])[] {
    return [...this.#clients]
  }

  /** @throws SvcError `quota_exceeded` when as many watch as `SVC_SSE_CLIENTS` allows. */
  requireRoom(): void {
    const limit = this.settings.SVC_SSE_CLIENTS
    if (this.#watchers >= limit) {
      throw new SvcError('quota_exceeded', 'Too many streams are open.', { limit: 'SVC_SSE_CLIENTS', value: limit })
    }
  }

  /**
   * Answers with a stream. A node's own broker is not counted against those who watch: it needs its stream to work.
   *
   * @throws SvcError `quota_exceeded`, before anything is written.
   */
  open(reply: FastifyReply, counted = true): SseClient {
    if (counted) this.requireRoom()
    reply.hijack()
    const response = reply.raw
    response.socket?.setNoDelay(true)
    response.writeHead(200, { ...(reply.getHeaders() as Record<string, string>), ...streamHeaders })
    response.flushHeaders()
    const client = new SseClient(response, this.clock)
    this.#clients.set(client, stateOf(reply.request))
    if (counted) this.#watchers += 1
    client.over.signal.addEventListener('abort', () => {
      this.#clients.delete(client)
      if (counted) this.#watchers -= 1
    })
    return client
  }

  endAll(reason: string): void {
    for (const client of [...this.#clients.keys()]) client.end(reason)
  }
}
