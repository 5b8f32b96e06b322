import { Inject, Injectable } from '@nestjs/common'
import type { Listener } from '#common/contract/define.js'
import { version } from '#common/kernel/version.js'
import type { HandlerGroup, HandlersOf } from '../http/local.handlers.js'
import { readOpenApi } from './openapi.file.js'
import { StatusService } from './status.service.js'

/** State and liveness of the daemon, and the description of its routes. */
@Injectable()
export class SystemHandlers implements HandlerGroup {
  readonly #documents = new Map<Listener, Record<string, unknown>>()
  readonly handlers: HandlersOf<'system.status' | 'system.health' | 'health.get' | 'system.openapi'>

  constructor(@Inject(StatusService) status: StatusService) {
    const health = () => ({ status: 'ok' as const, version })
    this.handlers = {
      'system.status': (ctx) => status.read(ctx),
      'system.health': health,
      'health.get': health,
      'system.openapi': (_ctx, _input, { entrance }) => this.#openApi(entrance.listener),
    }
  }

  #openApi(listener: Listener): Record<string, unknown> {
    const known = this.#documents.get(listener) ?? readOpenApi(listener)
    this.#documents.set(listener, known)
    return known
  }
}
