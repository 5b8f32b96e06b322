import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { backoff, type Clock, pause } from '#common/kernel/clock.js'
import type { Logger } from '#common/kernel/log.js'

export interface SessionOptions {
  readonly url: string
  readonly clock: Clock
  readonly log: Logger
}

/** Channels on which replicas of this service tell each other what can't wait. */
export const channels = { changed: 'svc_models_changed', cancel: 'svc_models_cancel' } as const
export type Channel = (typeof channels)[keyof typeof channels]

/** Name of a process's incarnation: the key of its advisory lock in hexadecimal. */
const holderForm = /^models-([0-9a-f]{16})$/

/** Both halves of the key of a holder's lock, as pg_locks shows them; undefined for a name that is none. */
export const lockKeyOf = (holder: string): { high: number; low: number } | undefined => {
  const [, hex] = holderForm.exec(holder) ?? []
  return hex === undefined
    ? undefined
    : { high: Number.parseInt(hex.slice(0, 8), 16), low: Number.parseInt(hex.slice(8), 16) }
}

/**
 * One database connection for the life of the process. It holds an advisory lock by which others see that this
 * incarnation lives: the database lets go of it as soon as the process is gone, and keeps it while the process is only
 * paused. On the same connection replicas hear each other.
 */
export class DatabaseSession {
  readonly holder = `models-${randomBytes(8).toString('hex')}`
  readonly #options: SessionOptions
  readonly #stopping = new AbortController()
  readonly #listeners = new Map<Channel, (payload: string) => void>()
  readonly #back = new Set<() => void>()
  #client: pg.Client | undefined
  #held = Promise.withResolvers<void>()
  #running: Promise<void> | undefined

  constructor(options: SessionOptions) {
    this.#options = options
  }

  start(): void {
    this.#running ??= this.#keep()
  }

  /** Resolves while the lock is held; waits for it after a loss. Rejects when the signal fires. */
  async held(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const leave = Promise.withResolvers<never>()
    leave.promise.catch(() => undefined)
    const abort = (): void => leave.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      await Promise.race([this.#held.promise, leave.promise])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  /** One listener a channel. Notices that were sent while the connection was lost don't come: see `onBack`. */
  on(channel: Channel, listener: (payload: string) => void): void {
    this.#listeners.set(channel, listener)
  }

  /** Calls back each time the connection was made anew. */
  onBack(listener: () => void): void {
    this.#back.add(listener)
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    await this.#client?.end().catch((err: unknown) => this.#options.log.debug({ err }, 'the session was lost'))
    await this.#running
  }

  async #keep(): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#stopping
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      try {
        await this.#session(() => {
          attempt = 0
        })
      } catch (err) {
        if (!signal.aborted) log.warn({ err }, 'the session with the database could not be made; trying again')
      }
      if (!signal.aborted) await pause(clock, 20 + backoff(attempt, 20, 1000), signal)
    }
  }

  /** Connects, locks, listens; resolves when the connection is gone. */
  async #session(made: () => void): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: 'svc models session',
      options: '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3',
      connectionTimeoutMillis: 5000,
      keepAlive: true,
    })
    const gone = new Promise<void>((resolve) => client.on('end', resolve))
    client.on('error', (err) => this.#options.log.debug({ err }, 'the session with the database was lost'))
    client.on('notification', ({ channel, payload = '' }) => this.#listeners.get(channel as Channel)?.(payload))
    this.#client = client
    try {
      await client.connect()
      const { high, low } = lockKeyOf(this.holder) as { high: number; low: number }
      await client.query('SELECT pg_advisory_lock(($1::bigint << 32) | $2::bigint)', [high, low])
      for (const channel of this.#listeners.keys()) await client.query(`LISTEN ${channel}`)
    } catch (error) {
      await client.end().catch(() => undefined) // it never worked; the error that is thrown says why
      throw error
    }
    made()
    this.#held.resolve()
    for (const listener of this.#back) listener()
    await gone
    this.#held = Promise.withResolvers<void>()
  }
}
