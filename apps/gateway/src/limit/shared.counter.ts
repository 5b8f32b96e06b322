import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common'
import { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, type RateLimiterRes } from 'rate-limiter-flexible'
import { CLOCK, type Clock } from '#common/kernel/clock.js'
import { SETTINGS, type Settings } from '#common/kernel/config.js'
import type { Logger } from '#common/kernel/log.js'
import { LOG } from '#common/kernel/service.js'
import { type Standing, windowSeconds } from './limit.window.js'

/** Longest wait for an answer of Redis, and how long it isn't asked after it kept somebody waiting (ms). */
const patience = 200
const spared = 1000
const connectWithin = 2000
/**
 * How long it may have been away before the log says so (ms): while it starts, or while the machine is busy, this process
 * itself is what keeps an answer waiting.
 */
const doubted = 3000
/** Silence after a question for which a connection is given up (ms). */
const silence = 5000
const longestPause = 2000

export interface Counter {
  /** Counts one, whatever the answer. Never throws and never takes longer than `patience`. */
  count(key: string): Promise<Standing>
}

const standingOf = (quota: number, { consumedPoints, msBeforeNext }: RateLimiterRes): Standing => ({
  quota,
  remaining: Math.max(0, quota - consumedPoints),
  resetMs: Math.max(0, msBeforeNext),
  over: consumedPoints > quota,
})

/** Over the quota the library rejects with what it counted; an error is one of the store. */
const asRefusal = (thrown: unknown): RateLimiterRes => {
  if (thrown instanceof Error) throw thrown
  return thrown as RateLimiterRes
}

/**
 * Counts over all gateways, in Redis. While Redis is away each counts by itself: a limit is then as many times wider as
 * there are gateways, and nobody is kept waiting or refused for it.
 */
@Injectable()
export class SharedCounters implements OnApplicationShutdown {
  readonly #redis: Redis | undefined
  #spareUntil = 0
  #away = false
  /** Calls off the question that decides whether it is away; undefined while nobody doubts it. */
  #doubt: (() => void) | undefined
  #closed = false

  constructor(
    @Inject(SETTINGS) { REDIS_URL: url }: Settings,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOG) private readonly log: Logger,
  ) {
    if (url === undefined) return
    this.#redis = new Redis(url, {
      connectionName: 'svc gateway',
      connectTimeout: connectWithin,
      commandTimeout: patience,
      socketTimeout: silence,
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      enableAutoPipelining: true,
      retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 10), longestPause),
    })
    this.#redis.on('error', (error: unknown) => this.#lost(error))
  }

  /** Asks Redis. @returns why counts aren't those of all gateways now, or null */
  async fault(): Promise<string | null> {
    if (!this.#redis) return 'REDIS_URL is not set: each gateway counts requests by itself.'
    try {
      await this.#redis.ping()
      this.#found()
      return null
    } catch (error) {
      this.#lost(error)
      return 'It does not answer: each gateway counts requests by itself meanwhile.'
    }
  }

  /** @param name unique among counters; @param quota what the window allows, above 0 */
  counter(name: string, quota: number): Counter {
    const facts = { keyPrefix: `svc:limit:${name}`, points: quota, duration: windowSeconds }
    const alone = new RateLimiterMemory(facts)
    const countAlone = async (key: string): Promise<Standing> =>
      standingOf(quota, await alone.consume(key).catch(asRefusal))
    const redis = this.#redis
    if (!redis) return { count: countAlone }
    const shared = new RateLimiterRedis({ ...facts, storeClient: redis, rejectIfRedisNotReady: true })
    return {
      count: async (key) => {
        if (this.clock.monotonic() < this.#spareUntil) return countAlone(key)
        try {
          const counted = await shared.consume(key).catch(asRefusal)
          this.#found()
          return standingOf(quota, counted)
        } catch (error) {
          this.#lost(error)
          return countAlone(key)
        }
      },
    }
  }

  onApplicationShutdown(): void {
    this.#closed = true
    this.#doubt?.()
    this.#redis?.disconnect()
  }

  #lost(error: unknown): void {
    if (this.#redis?.status === 'ready') this.#spareUntil = this.clock.monotonic() + spared
    if (this.#away) return
    this.#doubt ??= this.clock.after(doubted, () => void this.#askAgain(error))
  }

  async #askAgain(error: unknown): Promise<void> {
    try {
      await this.#redis?.ping()
      this.#found()
    } catch {
      if (this.#closed) return
      this.#doubt = undefined
      this.#away = true
      this.log.warn({ err: error }, 'Redis is away: each gateway counts requests by itself')
    }
  }

  #found(): void {
    this.#doubt?.()
    this.#doubt = undefined
    this.#spareUntil = 0
    if (!this.#away) return
    this.#away = false
    this.log.info('Redis is back: requests are counted over all gateways')
  }
}
