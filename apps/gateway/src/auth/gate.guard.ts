import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import { gatesOf } from '#common/contract/define.js'
import { SvcError } from '#common/kernel/errors.js'
import { operationOf, stateOf } from '../http/request.state.js'
import { NodePrincipals } from '../tokens/node.principals.js'
import { passGates } from './gate.js'

/** The one guard that enforces listener and gate of each entry of the contract. Runs after the token was checked. */
@Injectable()
export class GateGuard implements CanActivate {
  constructor(@Inject(NodePrincipals) private readonly principals: NodePrincipals) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const entry = operationOf(context.getHandler())
    const request = context.switchToHttp().getRequest<FastifyRequest>()
    const { entrance, actor } = stateOf(request)
    if (!entry.listeners?.includes(entrance.listener)) throw new SvcError('listener_forbidden')
    const gates = gatesOf(entry)
    if (gates.includes('open')) return true
    if (!actor) throw new SvcError('token_missing')
    const { id } = request.params as { id?: string }
    await passGates(gates, actor, id, async (nodeId, fresh) => (await this.principals.of(nodeId, fresh)).generation)
    return true
  }
}
