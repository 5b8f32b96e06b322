import { type ExecutionContext, Inject, Injectable } from '@nestjs/common'
import { AuthGuard } from '@nestjs/passport'
import type { FastifyRequest } from 'fastify'
import { gatesOf } from '#common/contract/define.js'
import { SvcError } from '#common/kernel/errors.js'
import { operationOf, stateOf } from '../http/request.state.js'
import { GuessLimit } from '../limit/guess.limit.js'
import { TokenVerifier } from '../tokens/token.verifier.js'
import type { Authenticated, Shown } from './bearer.strategy.js'

/** Authenticates every operation but the open ones. */
@Injectable()
export class BearerGuard extends AuthGuard('bearer') {
  constructor(
    @Inject(GuessLimit) private readonly guesses: GuessLimit,
    @Inject(TokenVerifier) private readonly tokens: TokenVerifier,
  ) {
    super()
  }

  /** @throws SvcError as `handleRequest`; `rate_limited` where too many wrong tokens came from */
  override canActivate(context: ExecutionContext): Promise<boolean> | boolean {
    if (gatesOf(operationOf(context.getHandler())).includes('open')) return true
    return this.#authenticate(context)
  }

  async #authenticate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<FastifyRequest>()
    const token = request.headers.authorization?.replace(/^bearer +/i, '')
    const shown = { remote: stateOf(request).remote, token }
    this.guesses.admit(shown, (text) => this.tokens.knows(text))
    try {
      return (await super.canActivate(context)) as boolean
    } catch (error) {
      throw await this.guesses.refused(shown, error)
    }
  }

  /** The strategy is shown the Authorization header alone: a token in an address or a body is never taken. */
  override getRequest(context: ExecutionContext): Shown {
    const { authorization } = context.switchToHttp().getRequest<FastifyRequest>().headers
    return { headers: authorization === undefined ? {} : { authorization }, tokens: this.tokens }
  }

  /** @throws SvcError of the verifier; `token_missing`; `token_invalid` for a header that is no bearer token's. */
  override handleRequest<T>(
    error: unknown,
    actor: T | false,
    _info: unknown,
    context: ExecutionContext,
    status?: unknown,
  ): T {
    if (error) throw error
    if (!actor) throw new SvcError(status === 400 ? 'token_invalid' : 'token_missing')
    const state = stateOf(context.switchToHttp().getRequest<FastifyRequest>())
    const { actor: who, token } = actor as unknown as Authenticated
    state.actor = who
    state.bearer = token
    return who as T
  }
}
