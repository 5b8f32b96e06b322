import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import { gatesOf } from '#common/contract/define.js'
import { SvcError } from '#common/kernel/errors.js'
import { operationOf, stateOf } from '../http/request.state.js'
import { GateKeeper } from './gate.keeper.js'

/** The one guard that enforces the gate of each entry of the contract. Runs after the token was checked. */
@Injectable()
export class GateGuard implements CanActivate {
  constructor(@Inject(GateKeeper) private readonly keeper: GateKeeper) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const entry = operationOf(context.getHandler())
    const request = context.switchToHttp().getRequest<FastifyRequest>()
    const state = stateOf(request)
    if (gatesOf(entry).includes('open')) return true
    if (!state.actor) throw new SvcError('token_missing')
    const { id: nodeId } = request.params as { id?: string }
    await this.keeper.admit(entry, state.actor, nodeId)
    state.admitted = { entry, nodeId }
    return true
  }
}
