import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import type { Context } from '#common/kernel/context.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { Writer } from '#common/kernel/database/writer.js'
import { freshToken } from '../tokens/token.mint.js'
import { TokenRepository } from '../tokens/token.repository.js'
import { TrustTail } from '../trust/trust.tail.js'

/** The request that a token is minted for: its repetition gets no second one. */
interface Request {
  readonly operation: string
  readonly input: unknown
}

interface Publisher {
  readonly id: string
  /** Which object it is, for whoever reads the list of tokens. */
  readonly name: string
}

/** Tokens that publish events of one object. The object is another service's: here it is an id and nothing more. */
@Injectable()
export class PublishTokenService {
  constructor(
    @Inject(Writer) private readonly writer: Writer,
    @Inject(TokenRepository) private readonly tokens: TokenRepository,
    @Inject(TrustTail) private readonly trust: TrustTail,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Before anything is done elsewhere for a request that `mint` ends. @throws SvcError idempotency_key_reused */
  requireOwnKey(ctx: Context, request: Request): Promise<void> {
    return this.writer.requireOwnKey(ctx, request)
  }

  /**
   * A new token, once for the request's key; those before it go on for `overlap` seconds. Answers null to a repetition:
   * the text is kept nowhere.
   *
   * @throws SvcError of a used key.
   */
  async mint(ctx: Context, request: Request, object: Publisher, overlap = 0): Promise<string | null> {
    let text: string | null = null
    const { replayed } = await this.writer.once(ctx, request, async ({ tx }) => {
      text = await this.#replace(tx, object, overlap)
      return null
    })
    return replayed ? null : text
  }

  /** Ends all of an object that is gone. */
  revoke(ctx: Context, objectId: string): Promise<void> {
    return this.writer.transact(ctx, async ({ tx }) => {
      const { ids } = await this.tokens.endPublishing(tx, objectId, this.clock.now())
      this.#tell(tx, ids)
    })
  }

  /** Who finds one in its way was overtaken by another, whose token it ends then. */
  async #replace(tx: Tx, { id, name }: Publisher, overlap: number): Promise<string> {
    for (;;) {
      const now = this.clock.now()
      const { ids, last } = await this.tokens.endPublishing(tx, id, now, now + overlap * 1000)
      this.#tell(tx, ids)
      const { text, record } = freshToken(
        {
          kind: 'pub',
          label: name,
          appId: null,
          profile: null,
          objectRef: id,
          scopes: [],
          followsGrant: false,
          lifetime: null,
          rotatedFrom: last ?? null,
        },
        now,
      )
      if (await this.tokens.insertPublishing(tx, record)) return text
    }
  }

  #tell(tx: Tx, tokens: readonly string[]): void {
    if (tokens.length > 0) tx.afterCommit(() => this.trust.tell({ tokens }))
  }
}
