import { Inject, Injectable } from '@nestjs/common'
import type { Listener } from '#common/contract/define.js'
import type { Context } from '#common/kernel/context.js'
import { version } from '#common/kernel/version.js'
import { readOpenApi } from './openapi.file.js'
import { StatusService } from './status.service.js'

export type LocalHandler = (ctx: Context, listener: Listener) => unknown

/** What the gateway answers itself. */
@Injectable()
export class SystemHandlers {
  readonly #documents = new Map<Listener, Record<string, unknown>>()
  readonly #handlers: Readonly<Record<string, LocalHandler>>

  constructor(@Inject(StatusService) status: StatusService) {
    const health = () => ({ status: 'ok', version })
    this.#handlers = {
      'system.status': (ctx) => status.read(ctx),
      'system.health': health,
      'health.get': health,
      'system.openapi': (_ctx, listener) => this.#openApi(listener),
    }
  }

  handlerOf(name: string): LocalHandler | undefined {
    return Object.hasOwn(this.#handlers, name) ? this.#handlers[name] : undefined
  }

  #openApi(listener: Listener): Record<string, unknown> {
    const known = this.#documents.get(listener) ?? readOpenApi(listener)
    this.#documents.set(listener, known)
    return known
  }
}
