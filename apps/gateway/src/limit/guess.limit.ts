import { Inject, Injectable } from '@nestjs/common'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import { hasCode, SvcError } from '#common/kernel/errors.js'
import { parseToken } from '#common/kernel/tokens.js'
import { networkOf } from '../http/client.address.js'
import { BoundedCache } from '../tokens/bounded.cache.js'
import { type Counter, SharedCounters } from './shared.counter.js'

/** Secrets that one address may try for one token in a window. */
const guessesAtOne = 10
/** Pairs of address and token that one gateway remembers as stopped. */
const capacity = 10_000

/** Who shows a token, from where. */
export interface Shown {
  readonly remote: string | null
  readonly token: string | undefined
}

const refusal = (retryAfterMs: number): SvcError =>
  new SvcError('rate_limited', 'Too many wrong tokens came from this address.', {
    retry_after_ms: Math.ceil(retryAfterMs),
  })

/**
 * Makes guessing slow: an address is told to wait after so many wrong tokens, and after fewer wrong secrets for one and the
 * same token no further one is looked at.
 *
 * A good token is never refused for what others do at its address: the count of an address only changes how a wrong token
 * is answered, and one that proved right before passes however many guesses are made at it.
 */
@Injectable()
export class GuessLimit {
  readonly #ofAddress: Counter | undefined
  readonly #ofToken: Counter | undefined
  /** Until when (monotonic ms) no secret of this token from this address is looked at. */
  readonly #stopped = new BoundedCache<string, number>(capacity)

  constructor(
    @Inject(SETTINGS) { SVC_AUTH_FAILURE_LIMIT: quota }: Settings,
    @Inject(SharedCounters) counters: SharedCounters,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {
    if (quota === 0) return
    this.#ofAddress = counters.counter('guess', quota)
    this.#ofToken = counters.counter('guess-one', Math.min(guessesAtOne, quota))
  }

  /**
   * Before a token is looked at.
   *
   * @param isKnown whether this very token proved right before.
   * @throws SvcError `rate_limited`
   */
  admit(shown: Shown, isKnown: (token: string) => boolean): void {
    if (this.#stopped.size === 0) return
    const pair = this.#pairOf(shown)
    const until = pair === undefined ? undefined : this.#stopped.get(pair)
    if (pair === undefined || until === undefined) return
    const left = until - this.clock.monotonic()
    if (left <= 0) this.#stopped.delete(pair)
    else if (!isKnown(shown.token as string)) throw refusal(left)
  }

  /** What is to be answered for a token that was refused: `thrown`, or that there were too many. */
  async refused(shown: Shown, thrown: unknown): Promise<unknown> {
    // an expired or revoked token is no guess: whoever shows it was given it
    if (!this.#ofAddress || !this.#ofToken || shown.remote === null || !hasCode(thrown, 'token_invalid')) return thrown
    const pair = this.#pairOf(shown)
    const [address, token] = await Promise.all([
      this.#ofAddress.count(networkOf(shown.remote)),
      pair === undefined ? undefined : this.#ofToken.count(pair),
    ])
    if (pair !== undefined && token && token.remaining === 0) {
      this.#stopped.set(pair, this.clock.monotonic() + token.resetMs)
    }
    return address.over ? refusal(address.resetMs) : thrown
  }

  /**
   * Undefined for what nothing is looked up for: what its checksum tells apart from any token, and tokens of nodes. Their
   * ids are known beside them, at the same address.
   */
  #pairOf({ remote, token }: Shown): string | undefined {
    const parsed = token === undefined ? null : parseToken(token)
    return parsed && parsed.kind !== 'node' && remote !== null ? `${networkOf(remote)} ${parsed.id}` : undefined
  }
}
