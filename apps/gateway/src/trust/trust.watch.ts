import { Inject, Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Actor } from '#common/kernel/context.js'
import { isSvcError, SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import { exceeding } from '#common/kernel/scopes.js'
import { LOG } from '#common/kernel/service.js'
import { GateKeeper } from '../auth/gate.keeper.js'
import type { RequestState } from '../http/request.state.js'
import { GatewayListeners } from '../listener/gateway.listeners.js'
import { SseClients } from '../stream/sse.clients.js'
import { TokenVerifier } from '../tokens/token.verifier.js'
import { TrustTail } from './trust.tail.js'

/** How often (ms) the tokens of what is open are looked at, whether or not a change was told. */
const lookEvery = 250

/** Something that lasts: it was permitted when it began, and must end when it no longer is. */
interface Lasting {
  readonly state: RequestState
  end(error: SvcError): void
}

/** "Cannot tell" ends nothing: only a refusal does. */
const isRefusal = (error: unknown): error is SvcError =>
  isSvcError(error) &&
  (['unauthenticated', 'forbidden'].includes(error.facts.kind) || error.code === 'stale_generation')

/** What a command was begun with is mounted for it until its end. @throws SvcError `scope_missing` */
const requireMounts = (began: Actor | undefined, now: Actor): void => {
  const files = began?.scopes.filter((scope) => scope.startsWith('svc:files:')) ?? []
  const [scope] = exceeding(files, now.scopes)
  if (scope !== undefined) throw new SvcError('scope_missing', `This needs the scope ${scope}.`, { scope })
}

/**
 * Ends streams, held requests, commands and model calls within a second of the moment at which their token is revoked,
 * expires, or no longer opens the gate of what was asked.
 */
@Injectable()
export class TrustWatch implements OnModuleInit, OnModuleDestroy {
  #callOff: (() => void) | undefined
  /** Tokens whose look is under way: what one of them stands for may take long to say, and the others don't wait. */
  readonly #checking = new Set<string>()

  constructor(
    @Inject(SseClients) private readonly streams: SseClients,
    @Inject(GatewayListeners) private readonly listeners: GatewayListeners,
    @Inject(TokenVerifier) private readonly tokens: TokenVerifier,
    @Inject(GateKeeper) private readonly keeper: GateKeeper,
    @Inject(TrustTail) private readonly trust: TrustTail,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {}

  onModuleInit(): void {
    // after all others that hear of a change have forgotten what they knew
    this.trust.listen(() => queueMicrotask(() => this.#look()))
    this.#tick()
  }

  onModuleDestroy(): void {
    this.#callOff?.()
  }

  #tick(): void {
    this.#callOff = this.clock.after(lookEvery, () => {
      this.#look()
      this.#tick()
    })
  }

  /** One look at each token at a time; what is told of it meanwhile the next look sees. */
  #look(): void {
    for (const [token, lasting] of this.#byToken()) {
      if (this.#checking.has(token)) continue
      this.#checking.add(token)
      this.#check(token, lasting)
        .catch((err: unknown) => this.log.error({ err }, 'the token of open streams could not be looked at'))
        .finally(() => this.#checking.delete(token))
    }
  }

  #byToken(): Map<string, Lasting[]> {
    const found = new Map<string, Lasting[]>()
    const add = (lasting: Lasting): void => {
      const { bearer } = lasting.state
      if (bearer === undefined) return
      const others = found.get(bearer)
      if (others) others.push(lasting)
      else found.set(bearer, [lasting])
    }
    for (const [client, state] of this.streams.entries()) add({ state, end: ({ code }) => client.end(code) })
    for (const state of this.listeners.lastingRequests()) add({ state, end: (error) => state.gone.abort(error) })
    return found
  }

  async #check(token: string, all: readonly Lasting[]): Promise<void> {
    try {
      const actor = await this.tokens.verify(token)
      await Promise.all(all.map((lasting) => this.#admit(actor, lasting)))
    } catch (error) {
      if (isRefusal(error)) for (const lasting of all) lasting.end(error)
    }
  }

  async #admit(actor: Actor, lasting: Lasting): Promise<void> {
    const { admitted } = lasting.state
    if (!admitted) return
    try {
      await this.keeper.admit(admitted.entry, actor, admitted.nodeId)
      if (admitted.entry.service === 'host') requireMounts(lasting.state.actor, actor)
    } catch (error) {
      if (isRefusal(error)) lasting.end(error)
    }
  }
}
