import { Inject, Injectable } from '@nestjs/common'
import type { RequestState } from '../http/request.state.js'
import { TokenVerifier } from '../tokens/token.verifier.js'
import { GateKeeper } from './gate.keeper.js'

/** Lets a request through its gate once more, where so much time went by since that it may be closed. */
@Injectable()
export class Readmission {
  constructor(
    @Inject(TokenVerifier) private readonly tokens: TokenVerifier,
    @Inject(GateKeeper) private readonly keeper: GateKeeper,
  ) {}

  /** Who asks is afterwards as they are now. @throws SvcError of the verifier and of the gate */
  async renew(state: RequestState): Promise<void> {
    const { bearer, admitted } = state
    if (bearer === undefined || !admitted) return
    const actor = await this.tokens.verify(bearer)
    await this.keeper.admit(admitted.entry, actor, admitted.nodeId)
    state.actor = actor
  }
}
