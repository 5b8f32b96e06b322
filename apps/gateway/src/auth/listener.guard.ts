import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import { SvcError } from '#common/kernel/errors.js'
import { operationOf, stateOf } from '../http/request.state.js'

/** Each listener serves its own set of the contract, whoever asks: looked at before any token. */
@Injectable()
export class ListenerGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { listeners = [] } = operationOf(context.getHandler())
    const { entrance } = stateOf(context.switchToHttp().getRequest<FastifyRequest>())
    if (!listeners.includes(entrance.listener)) throw new SvcError('listener_forbidden')
    return true
  }
}
