import { Inject, Injectable } from '@nestjs/common'
import type { HandlerGroup, HandlersOf } from '../http/local.handlers.js'
import { LedgerService } from './ledger.service.js'

/** The ledger of all services as one list. */
@Injectable()
export class LedgerHandlers implements HandlerGroup {
  readonly handlers: HandlersOf<'ledger.list'>

  constructor(@Inject(LedgerService) ledger: LedgerService) {
    this.handlers = { 'ledger.list': (ctx, input) => ledger.list(ctx, input) }
  }
}
