import { Inject, Injectable } from '@nestjs/common'
import { TrustTail } from '../trust/trust.tail.js'
import { GrantTeller } from './grant.teller.js'

/** How long the answer to a change waits for lifecycle to have heard of it (ms); it hears of it in any case. */
const heardWithin = 1000

/** Carries a committed change of an app to all that go by it: every gateway, and lifecycle's copy of the grant. */
@Injectable()
export class AppSpread {
  constructor(
    @Inject(TrustTail) private readonly tail: TrustTail,
    @Inject(GrantTeller) private readonly teller: GrantTeller,
  ) {}

  /** @param tokens those that ended with it */
  async changed({ appId, tokens = [] }: { appId: string; tokens?: readonly string[] }): Promise<void> {
    this.tail.tell({ apps: [appId], ...(tokens.length > 0 && { tokens }) })
    await this.teller.tell(appId, heardWithin)
  }
}
