import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import { SvcError } from '#common/kernel/errors.js'
import { AllowedOrigins } from '../http/allowed.origins.js'
import { stateOf } from '../http/request.state.js'

/** An app's token works from that app's own pages: one that another app's page came by is of no use to it. */
@Injectable()
export class OriginGuard implements CanActivate {
  constructor(@Inject(AllowedOrigins) private readonly origins: AllowedOrigins) {}

  canActivate(context: ExecutionContext): boolean {
    const { entrance, origin, actor } = stateOf(context.switchToHttp().getRequest<FastifyRequest>())
    const isOwn = origin === undefined || actor?.appId === undefined || this.origins.isOf(actor.appId, origin)
    if (entrance.listener === 'app' && !isOwn) {
      throw new SvcError('origin_forbidden', "This page is not one of the app's that the token belongs to.")
    }
    return true
  }
}
