import { Controller, Inject, Req, RequestMapping, RequestMethod, Res, type Type, UseGuards } from '@nestjs/common'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Operation } from '#common/contract/define.js'
import { AuditGuard } from '../audit/audit.guard.js'
import { BearerGuard } from '../auth/bearer.guard.js'
import { GateGuard } from '../auth/gate.guard.js'
import { ListenerGuard } from '../auth/listener.guard.js'
import { OriginGuard } from '../auth/origin.guard.js'
import { LimitGuard } from '../limit/limit.guard.js'
import { Dispatcher } from './dispatcher.js'
import { markHandler } from './request.state.js'

type Serve = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/** `/v1/nodes/{id}` as the router spells it. */
const routePath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

/**
 * The controller that serves the contract: one method an entry and no other, every one behind the same guards.
 *
 * @throws Error when two entries claim one method and path.
 */
export const contractController = (entries: readonly Operation[]): Type => {
  @Controller()
  @UseGuards(ListenerGuard, BearerGuard, OriginGuard, LimitGuard, GateGuard, AuditGuard)
  class ContractController {
    readonly served = new Map<string, Serve>()

    constructor(@Inject(Dispatcher) dispatcher: Dispatcher) {
      for (const entry of entries) this.served.set(entry.name, dispatcher.bind(entry))
    }
  }
  const claimed = new Set<string>()
  for (const entry of entries) {
    const { name, method, path } = entry as Operation & { method: keyof typeof RequestMethod; path: string }
    const claim = `${method} ${path.replace(/\{\w+\}/g, '{}')}`
    if (claimed.has(claim)) throw new Error(`two entries of the contract claim ${claim}`)
    claimed.add(claim)
    const handler = function (this: ContractController, request: FastifyRequest, reply: FastifyReply): Promise<void> {
      return (this.served.get(name) as Serve)(request, reply)
    }
    Object.defineProperty(handler, 'name', { value: name })
    const descriptor: PropertyDescriptor = { value: handler, writable: true, enumerable: false, configurable: true }
    Object.defineProperty(ContractController.prototype, name, descriptor)
    markHandler(handler, entry)
    RequestMapping({ path: routePath(path), method: RequestMethod[method] })(
      ContractController.prototype,
      name,
      descriptor,
    )
    Req()(ContractController.prototype, name, 0)
    Res()(ContractController.prototype, name, 1)
  }
  return ContractController
}
