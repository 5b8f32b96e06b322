import { Inject, Injectable } from '@nestjs/common'
import { PassportStrategy } from '@nestjs/passport'
import { Strategy } from 'passport-http-bearer'
import type { Actor } from '#common/kernel/context.js'
import { TokenVerifier } from '../tokens/token.verifier.js'

/** The one way in: a bearer token, and what it stands for. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  constructor(@Inject(TokenVerifier) private readonly tokens: TokenVerifier) {
    super()
  }

  /** Called by passport with the token of the Authorization header. */
  validate(token: string): Promise<Actor> {
    return this.tokens.verify(token)
  }
}
