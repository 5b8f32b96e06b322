import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { gatesOf, type Operation } from '#common/contract/define.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import type { Actor } from '#common/kernel/context.js'
import { SvcError } from '#common/kernel/errors.js'
import { operationOf, stateOf } from '../http/request.state.js'
import { limitHeaders } from './limit.window.js'
import { type Counter, SharedCounters } from './shared.counter.js'

/** The owner asks as often as the owner likes, and what hosts a node as often as that needs. */
const isCounted = (entry: Operation, actor: Actor, nodeId: string | undefined): boolean =>
  actor.kind !== 'owner' &&
  !(actor.kind === 'node' && actor.nodeId === nodeId && gatesOf(entry).every((gate) => gate === 'broker'))

/** So many requests a minute with one token, refused ones too. A stream counts when it is opened. */
@Injectable()
export class LimitGuard implements CanActivate {
  readonly #counter: Counter | undefined

  constructor(@Inject(SETTINGS) settings: Settings, @Inject(SharedCounters) counters: SharedCounters) {
    if (settings.SVC_RATE_LIMIT > 0) this.#counter = counters.counter('token', settings.SVC_RATE_LIMIT)
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const http = context.switchToHttp()
    const request = http.getRequest<FastifyRequest>()
    const { actor } = stateOf(request)
    if (!this.#counter || !actor) return true
    const { id } = request.params as { id?: string }
    if (!isCounted(operationOf(context.getHandler()), actor, id)) return true
    return this.#admit(this.#counter, actor, http.getResponse<FastifyReply>())
  }

  async #admit(counter: Counter, actor: Actor, reply: FastifyReply): Promise<true> {
    const standing = await counter.count(actor.tokenId ?? actor.principal)
    reply.headers(limitHeaders(standing))
    if (!standing.over) return true
    throw new SvcError('rate_limited', `This token may ask ${standing.quota} times a minute.`, {
      limit: 'SVC_RATE_LIMIT',
      value: standing.quota,
      retry_after_ms: standing.resetMs,
    })
  }
}
