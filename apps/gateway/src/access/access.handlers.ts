import { Inject, Injectable } from '@nestjs/common'
import type { HandlerGroup, HandlersOf } from '../http/local.handlers.js'
import { AccessService } from './access.service.js'

/** Where the daemon is reached from, for its owner. */
@Injectable()
export class AccessHandlers implements HandlerGroup {
  readonly handlers: HandlersOf<'access.retrieve' | 'access.update'>

  constructor(@Inject(AccessService) access: AccessService) {
    this.handlers = {
      'access.retrieve': () => access.retrieve(),
      'access.update': (ctx, input) => access.update(ctx, input),
    }
  }
}
