import type { InputOf, Operation, OutputOf } from '#common/contract/define.js'
import type { contract, OperationName } from '#common/contract/index.js'
import type { Context } from '#common/kernel/context.js'
import type { RequestState } from './request.state.js'

type Answer<O extends Operation> = OutputOf<O> | Promise<OutputOf<O>>

/** How operations of the gateway's own are answered, by name; `state` says where the request came in. */
export type HandlersOf<Name extends OperationName> = {
  readonly [N in Name]: (
    ctx: Context,
    input: InputOf<(typeof contract)[N]>,
    state: RequestState,
  ) => Answer<(typeof contract)[N]>
}

export type LocalHandler = (ctx: Context, input: never, state: RequestState) => unknown

/** A provider that answers some of the gateway's own operations. */
export interface HandlerGroup {
  readonly handlers: Readonly<Record<string, LocalHandler>>
}

/** All that the gateway answers itself. */
export class LocalHandlers {
  readonly #handlers = new Map<string, LocalHandler>()

  /** @throws Error when two groups answer one operation */
  constructor(groups: readonly HandlerGroup[]) {
    for (const { handlers } of groups) {
      for (const [name, handler] of Object.entries(handlers)) {
        if (this.#handlers.has(name)) throw new Error(`${name} is answered twice`)
        this.#handlers.set(name, handler)
      }
    }
  }

  /** @throws Error for an operation that nothing here answers */
  of(name: string): (ctx: Context, input: unknown, state: RequestState) => unknown {
    const handler = this.#handlers.get(name)
    if (!handler) throw new Error(`the gateway does not answer ${name}`)
    return handler as (ctx: Context, input: unknown, state: RequestState) => unknown
  }
}
