import { Inject, Injectable } from '@nestjs/common'
import type { HandlerGroup, HandlersOf } from '../http/local.handlers.js'
import { AuditRepository } from './audit.repository.js'

/** The audit log as its owner reads it. */
@Injectable()
export class AuditHandlers implements HandlerGroup {
  readonly handlers: HandlersOf<'audit.list'>

  constructor(@Inject(AuditRepository) audit: AuditRepository) {
    this.handlers = { 'audit.list': (_ctx, input) => audit.list(input) }
  }
}
