import { Injectable } from '@nestjs/common'
import { PassportStrategy } from '@nestjs/passport'
import { Strategy } from 'passport-http-bearer'
import type { Actor } from '#common/kernel/context.js'
import type { TokenVerifier } from '../tokens/token.verifier.js'

/** What the guard shows of a request. */
export interface Shown {
  readonly headers: { readonly authorization?: string }
  readonly tokens: TokenVerifier
}

/** What a token proved to be. */
export interface Authenticated {
  readonly actor: Actor
  readonly token: string
}

/** The one way in: a bearer token, and what it stands for. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  constructor() {
    super({ passReqToCallback: true })
  }

  /**
   * Called by passport with the token of the Authorization header. Passport keeps one strategy a process, whichever
   * gateway made it: the verifier comes with the request.
   */
  async validate({ tokens }: Shown, token: string): Promise<Authenticated> {
    return { actor: await tokens.use(token), token }
  }
}
