import { type Job, Queue, Worker } from 'bullmq'
import { Redis, type RedisOptions } from 'ioredis'
import type { Clock } from '#common/kernel/clock.js'
import type { Settings } from '#common/kernel/config.js'
import { newId } from '#common/kernel/ids.js'
import type { Logger } from '#common/kernel/log.js'
import type { CronRecord } from '../cron/cron.record.js'

/** A schedule as far as its timer goes. */
export type Slotted = Pick<CronRecord, 'id' | 'status' | 'next_slot' | 'next_due'>

/** What a timer says: look at this schedule, which is due then (ms). */
interface Ring {
  readonly cron: string
  readonly due: number
}

const queueName = 'slots'
/**
 * Ms by which Redis rings ahead: a server at its default `hz` ends a blocking wait up to 100 ms late, and a burst takes its
 * time to be fetched. The rest is waited for here, to the millisecond.
 */
const lead = 200
/** Jobs that are fetched at once; each is done as soon as it is read. */
const concurrency = 50
/** Longest wait for an answer of Redis to a command (ms). Nobody waits for it but the timers themselves. */
const patience = 5000
const connectWithin = 2000
const longestPause = 2000

const common: RedisOptions = {
  connectTimeout: connectWithin,
  retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 10), longestPause),
}

const idOf = ({ id, next_slot }: Slotted): string => `${id}-${next_slot?.getTime()}`

/**
 * A timer for the next slot of each schedule: a delayed job in Redis that says no more than "look at this one". What is
 * fired is decided from the row, so that a timer may be lost, late or doubled. While Redis is away nothing here fails or
 * waits: the sweep finds what is due, and all timers are set anew when Redis is back.
 */
export class Timers {
  #commands: Redis | undefined
  #fetching: Redis | undefined
  #queue: Queue<Ring> | undefined
  #worker: Worker<Ring> | undefined
  #sentinel = ''
  #prefix = ''
  #ring: (cron: string, due: number) => void = () => undefined
  #ready: () => void = () => undefined
  #closed = false
  /** Something may not have reached Redis since timers were last set as a whole. */
  #behind = true
  #away = false

  constructor(
    private readonly settings: Settings,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** Calls back when a schedule is due, or was at `due` (ms). */
  onRing(ring: (cron: string, due: number) => void): void {
    this.#ring = ring
  }

  /** Calls back when Redis is there, at first and again. */
  onReady(look: () => void): void {
    this.#ready = look
  }

  get isOpen(): boolean {
    return this.#commands !== undefined || this.settings.REDIS_URL === undefined
  }

  /**
   * Connects, without waiting for Redis.
   *
   * @param installation names the timers of this database, for a Redis that serves several
   */
  open(installation: string): void {
    const { REDIS_URL: url } = this.settings
    if (url === undefined || this.#commands || this.#closed) return
    this.#prefix = `svc:${installation}`
    this.#sentinel = `${this.#prefix}:armed`
    this.#commands = this.#client(url, {
      connectionName: 'svc scheduler',
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      commandTimeout: patience,
    })
    this.#commands.on('ready', () => this.#ready())
    this.#fetching = this.#client(url, { connectionName: 'svc scheduler timers', maxRetriesPerRequest: null })
    this.#queue = new Queue<Ring>(queueName, {
      connection: this.#commands,
      prefix: this.#prefix,
      skipVersionCheck: true,
      skipWaitingForReady: true,
      skipMetasUpdate: true,
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    })
    this.#queue.on('error', (error) => this.#stumbled(error))
    this.#work()
  }

  /** Sets the timers of those that are active and have a slot; one that is set already stays. @returns whether Redis took them */
  async arm(crons: readonly Slotted[]): Promise<boolean> {
    const jobs = crons.flatMap((cron) => {
      const due = cron.next_due?.getTime()
      if (cron.status !== 'active' || due === undefined) return []
      const delay = Math.max(0, due - this.clock.now() - lead)
      return [{ name: 'slot', data: { cron: cron.id, due }, opts: { jobId: idOf(cron), delay } }]
    })
    if (jobs.length === 0) return true
    return this.#attempt(async (queue) => void (await queue.addBulk(jobs)))
  }

  /** Calls timers off. One that rings nevertheless finds nothing due. */
  async disarm(crons: readonly Slotted[]): Promise<void> {
    const ids = crons.filter(({ next_slot }) => next_slot).map(idOf)
    if (ids.length) await this.#attempt(async (queue) => void (await Promise.all(ids.map((id) => queue.remove(id)))))
  }

  /**
   * Whether all timers must be set anew: Redis is there, and lost them, or was away since they were set. Asks Redis, and
   * sees to it that somebody fetches what is due.
   */
  async mustRefill(): Promise<boolean> {
    if (this.#worker && !this.#worker.isRunning() && this.#commands?.status === 'ready') this.#renew()
    let missing = false
    const reached = await this.#attempt(async (_, redis) => {
      missing = (await redis.exists(this.#sentinel)) === 0
    }, true)
    return reached && (missing || this.#behind)
  }

  /**
   * Runs `fill`, then marks the timers as set. Should Redis lose them meanwhile the mark is not set either.
   *
   * @returns whether all of it arrived
   */
  async refill(fill: () => Promise<boolean>): Promise<boolean> {
    const begun = `${this.#sentinel}:${newId('evt')}`
    this.#behind = false
    const marked = await this.#attempt(async (_, redis) => void (await redis.set(begun, '1', 'EX', 600)), true)
    const done =
      marked &&
      (await fill()) &&
      (await this.#attempt(async (_, redis) => {
        await redis.persist(begun)
        await redis.rename(begun, this.#sentinel)
      }))
    if (!done) this.#behind = true
    return done
  }

  async close(): Promise<void> {
    this.#closed = true
    // forced: what is in hand is only a look, which the sweep of another makes up for, and Redis may be away
    await this.#worker?.close(true).catch(() => undefined)
    await this.#queue?.close().catch(() => undefined)
    this.#commands?.disconnect()
    this.#fetching?.disconnect()
  }

  #client(url: string, options: RedisOptions): Redis {
    const client = new Redis(url, { ...common, ...options })
    client.on('error', (error: unknown) => this.#lost(error))
    return client
  }

  #work(): void {
    this.#worker = new Worker<Ring>(queueName, async (job: Job<Ring>) => this.#rung(job.data), {
      connection: this.#fetching as Redis,
      prefix: this.#prefix,
      concurrency,
      runRetryDelay: 1000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    })
    this.#worker.on('error', (error) => this.#stumbled(error))
  }

  /** A worker whose first connection failed stays down for good. */
  #renew(): void {
    this.#worker?.close(true).catch(() => undefined)
    this.#work()
  }

  #rung({ cron, due }: Ring): void {
    const early = due - this.clock.now()
    if (early <= 0) this.#ring(cron, due)
    // a timer of the system may fire within the millisecond before
    else this.clock.after(early + 1, () => this.#ring(cron, due))
  }

  /** Never throws. While Redis is away only a `probe` asks it. */
  async #attempt(work: (queue: Queue<Ring>, redis: Redis) => Promise<void>, probe = false): Promise<boolean> {
    const [queue, redis] = [this.#queue, this.#commands]
    if (!queue || !redis || this.#closed) return false
    // one that is about to connect says by itself when it fails
    if (redis.status !== 'ready' || (this.#away && !probe)) {
      this.#behind = true
      return false
    }
    try {
      await work(queue, redis)
      this.#found()
      return true
    } catch (error) {
      this.#lost(error)
      return false
    }
  }

  /** The clients say themselves when Redis is away; besides, a job may have lost its lock or its place, as in an emptied Redis. */
  #stumbled(error: unknown): void {
    this.log.debug({ err: error }, 'a timer could not be read or removed')
  }

  #lost(error: unknown): void {
    this.#behind = true
    if (this.#away || this.#closed) return
    this.#away = true
    this.log.warn({ err: error }, 'Redis is away: what is due is looked for every second')
  }

  #found(): void {
    if (!this.#away) return
    this.#away = false
    this.log.info('Redis is back: timers are set anew')
  }
}
