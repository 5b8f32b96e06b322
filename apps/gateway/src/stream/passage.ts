import { Inject, Injectable } from '@nestjs/common'
import type { FastifyReply } from 'fastify'
import { gatesOf, type Operation } from '#common/contract/define.js'
import type { LlmItem } from '#common/contract/model.schema.js'
import { Bus } from '#common/kernel/bus/bus.js'
import type { Context } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { problemOf } from '../http/problem.js'
import { type FrameParts, frameOf } from './frames.js'
import type { SseClient } from './sse.client.js'
import { SseClients } from './sse.clients.js'

/** An item says its own type, unless the contract says how all of them are framed. */
const partsOf = ({ frame }: Operation, item: Record<string, unknown>): FrameParts =>
  frame ? { id: String(item[frame.id]), event: frame.event, data: item } : { event: String(item.type), data: item }

/** The answers that a service streams, handed on as they come. */
@Injectable()
export class Passage {
  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(SseClients) private readonly clients: SseClients,
  ) {}

  /**
   * Writes each item as an event of its type, or as the contract frames it. A refusal is an ordinary answer; what fails
   * later is an `error` event. Unless the contract gives it a time it goes on for as long as somebody reads.
   *
   * @throws SvcError whatever refuses the request before its first item.
   */
  async stream(entry: Operation, ctx: Context, input: unknown, reply: FastifyReply): Promise<void> {
    const counted = !gatesOf(entry).includes('broker')
    if (counted) this.clients.requireRoom()
    const { deadline: _, ...endless } = ctx
    const items = this.bus.stream(entry, entry.timeout === undefined ? endless : ctx, input)
    const leave = (): void => void items.return()
    await items.opened()
    const client = this.#open(reply, counted, leave)
    client.over.signal.addEventListener('abort', leave, { once: true })
    try {
      for await (const item of items) {
        await client.send(frameOf(partsOf(entry, item as Record<string, unknown>)))
      }
      client.end('complete')
    } catch (error) {
      client.fail(frameOf({ event: 'error', data: problemOf(error, ctx.requestId).body }))
    }
  }

  /** Others may have taken the room while the stream was being opened, which then nobody reads. */
  #open(reply: FastifyReply, counted: boolean, leave: () => void): SseClient {
    try {
      return this.clients.open(reply, counted)
    } catch (error) {
      leave()
      throw error
    }
  }

  /** The answer of a model call without its parts. @throws SvcError of the call; `service_unavailable` without an answer. */
  async answer(entry: Operation, ctx: Context, input: unknown): Promise<unknown> {
    for await (const item of this.bus.stream(entry, ctx, input)) {
      const said = item as LlmItem
      if (said.type !== 'answer') continue
      if (said.replayed && ctx.notes) ctx.notes.replayed = true
      return said.answer
    }
    throw new SvcError('service_unavailable', 'The stream ended without an answer.', { service: entry.service })
  }
}
