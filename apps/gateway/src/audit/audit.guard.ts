import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import type { FastifyRequest } from 'fastify'
import { operationOf } from '../http/request.state.js'
import { AuditScribe } from './audit.scribe.js'

/** The last of the guards: what passed all others is written down before it is done. */
@Injectable()
export class AuditGuard implements CanActivate {
  constructor(@Inject(AuditScribe) private readonly scribe: AuditScribe) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.scribe.admitted(operationOf(context.getHandler()), context.switchToHttp().getRequest<FastifyRequest>())
  }
}
