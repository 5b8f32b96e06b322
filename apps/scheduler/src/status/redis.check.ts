import { Redis } from 'ioredis'
import type { Logger } from '#common/kernel/log.js'

/** Longest wait for an answer, and for a connection (ms): whoever reads the status waits for it. */
const patience = 1000
/** Silence after a question for which a connection is given up (ms). */
const silence = 5000
const longestPause = 2000

const away = 'Redis does not answer: what is due is found in the database meanwhile, about a second late.'
const evicts = (policy: string): string =>
  `Redis drops timers when its memory is full (maxmemory-policy ${policy}): set it to noeviction.`

/**
 * Whether Redis is there and keeps what it is given, over a connection of its own: those of the timers wait for Redis as
 * long as it is away, and this one never does.
 */
export class RedisCheck {
  readonly #redis: Redis | undefined
  #said: string | null = null

  /** @param url of Redis; without it there are no timers, and the sweep finds everything */
  constructor(
    url: string | undefined,
    private readonly log: Logger,
  ) {
    if (url === undefined) return
    this.#redis = new Redis(url, {
      connectionName: 'svc scheduler status',
      connectTimeout: patience,
      commandTimeout: patience,
      socketTimeout: silence,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 10), longestPause),
    })
    // each question that fails says it
    this.#redis.on('error', () => undefined)
  }

  /** Asks Redis, and logs what has changed. @returns what is wrong with the timers now, or null */
  async fault(): Promise<string | null> {
    const found = await this.#look()
    if (found !== this.#said) {
      this.#said = found
      if (found) this.log.warn(found)
      else this.log.info('Redis keeps the timers as it should')
    }
    return found
  }

  close(): void {
    this.#redis?.disconnect()
  }

  async #look(): Promise<string | null> {
    if (!this.#redis) return 'REDIS_URL is not set: what is due is found in the database, about a second late.'
    try {
      // CONFIG, which would say it too, is closed on servers that somebody else runs
      const policy = /^maxmemory_policy:(\S+)/m.exec(await this.#redis.info('memory'))?.[1]
      return policy === undefined || policy === 'noeviction' ? null : evicts(policy)
    } catch {
      return away
    }
  }
}
