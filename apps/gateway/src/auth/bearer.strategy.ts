import { Inject, Injectable } from '@nestjs/common'
import { PassportStrategy } from '@nestjs/passport'
import { Strategy } from 'passport-http-bearer'
import { TokenVerifier } from '../tokens/token.verifier.js'
import type { Authenticated } from './bearer.guard.js'

/** The one way in: a bearer token, and what it stands for. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  constructor(@Inject(TokenVerifier) private readonly tokens: TokenVerifier) {
    super()
  }

  /** Called by passport with the token of the Authorization header. */
  async validate(token: string): Promise<Authenticated> {
    return { actor: await this.tokens.use(token), token }
  }
}
