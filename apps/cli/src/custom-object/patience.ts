import { isWorthRetrying, SvcError } from '#sdk/index.js'
import { backoff } from '#sdk/transport.js'

/** A wait that is worth a word, ms. */
const long = 3000
/** Tries of what is not waited out. */
const tries = 3

const mayComeBack: ReadonlySet<SvcError['kind']> = new Set([
  'connection',
  'unavailable',
  'upstream',
  'deadline',
  'timeout',
])

/**
 * Sends one request after the other. A first failure ends it after a few tries; once the daemon has answered it is waited for,
 * however long it is away, and so is its limit of requests.
 */
export class Patience {
  #known = false

  constructor(
    private readonly note: (text: string) => void,
    private readonly pause: (ms: number) => Promise<void>,
  ) {}

  /**
   * @param attempt one try of the request, the same each time
   * @param failed told of each try that failed
   * @throws what the last try failed with
   */
  async send<T>(attempt: () => Promise<T>, failed: (error: unknown) => void): Promise<T> {
    for (let failures = 1, told = false; ; failures++) {
      try {
        const answer = await attempt()
        this.#known = true
        return answer
      } catch (error) {
        failed(error)
        if (!(error instanceof SvcError)) throw error
        const passing = isWorthRetrying(error)
        const limited = error.code === 'rate_limited'
        const away = this.#known && mayComeBack.has(error.kind) && (error.kind === 'timeout' || passing)
        if (!away && !limited && (!passing || failures >= tries)) throw error
        const delay = error.retryAfter ?? backoff(failures)
        if (limited && delay >= long) {
          this.note(`too many requests: going on in ${Math.ceil(delay / 1000)} s`)
        } else if (away && failures >= tries && !told) {
          this.note('no answer of the daemon: trying again until there is one')
          told = true
        }
        await this.pause(delay)
      }
    }
  }
}
