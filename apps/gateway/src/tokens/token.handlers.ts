import { Inject, Injectable } from '@nestjs/common'
import type { TokenSelf } from '#common/contract/index.js'
import { isoTime } from '#common/kernel/clock.js'
import type { Actor } from '#common/kernel/context.js'
import type { HandlerGroup, HandlersOf } from '../http/local.handlers.js'
import { TokenRepository } from './token.repository.js'
import { TokenService } from './token.service.js'

/** Routes of tokens: minted, shown, replaced and ended by the owner, and what each stands for. */
@Injectable()
export class TokenHandlers implements HandlerGroup {
  readonly handlers: HandlersOf<
    'tokens.create' | 'tokens.list' | 'tokens.retrieve' | 'tokens.rotate' | 'tokens.revoke' | 'tokens.self'
  >

  constructor(
    @Inject(TokenService) tokens: TokenService,
    @Inject(TokenRepository) private readonly repository: TokenRepository,
  ) {
    this.handlers = {
      'tokens.create': (ctx, input) => tokens.create(ctx, input),
      'tokens.list': (_ctx, input) => tokens.list(input),
      'tokens.retrieve': (_ctx, { id }) => tokens.retrieve(id),
      'tokens.rotate': (ctx, input) => tokens.rotate(ctx, input),
      'tokens.revoke': (ctx, { id }) => tokens.revoke(ctx, id),
      'tokens.self': ({ actor }) => this.#self(actor),
    }
  }

  async #self(actor: Actor): Promise<TokenSelf> {
    const kept = actor.tokenId === null || actor.kind === 'node' ? undefined : await this.repository.find(actor.tokenId)
    const expiresAt = kept?.expiresAt ?? null
    return {
      kind: actor.kind as TokenSelf['kind'],
      principal: actor.principal,
      token_id: actor.tokenId,
      scopes: [...actor.scopes],
      app_id: actor.appId ?? null,
      profile: actor.profile ?? null,
      node_id: actor.nodeId ?? null,
      expires_at: expiresAt === null ? null : isoTime(expiresAt),
    }
  }
}
