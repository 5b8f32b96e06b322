import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { type Clock, pause, systemClock } from '../clock.js'
import type { Logger } from '../log.js'
import { isConnectionLoss, isContention, toSvcError } from './sql-errors.js'

export interface LeaseOptions {
  readonly url: string
  /**
   * Who asks. The same name takes its own lease over at once, under a new epoch; another waits until it runs out. Who lost
   * the lease has lost the name too, so that two processes of one name don't take it from each other without end.
   */
  readonly holder: string
  readonly log: Logger
  /** Called once when another holder has the lease: close the connections, they can write no more. */
  readonly onLost: () => void
  readonly clock?: Clock
  /** Ms; 3,000 and 1,000 unless given. */
  readonly ttl?: number
  readonly renewEvery?: number
}

const LEASE = 'canvas'
/** Ms between two looks at a lease that another holds, or at a database that is away. */
const LOOK_EVERY = 250
/** Longer than idle_in_transaction_session_timeout, which ends the transaction of a holder that was paused in one. */
const LOCK_TIMEOUT = 5000

/**
 * The right to write the canvas. The epoch that it gives is checked by the database at every write, so that time and
 * renewals decide only when another may take over, never whether a write is allowed: a holder that can't reach the
 * database keeps its lease until somebody else has taken it.
 */
export class Lease {
  readonly #options: LeaseOptions
  readonly #clock: Clock
  #holder: string
  #client: pg.Client | undefined
  #epoch: number | undefined
  #callOff: (() => void) | undefined

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#holder = options.holder
    this.#clock = options.clock ?? systemClock
  }

  get epoch(): number | undefined {
    return this.#epoch
  }

  /** Waits until the lease is ours and answers its epoch, or undefined when the signal fires first. */
  async acquire(signal?: AbortSignal): Promise<number | undefined> {
    while (!signal?.aborted) {
      const epoch = await this.#tryAcquire()
      if (epoch !== null) {
        this.#epoch = epoch
        this.#renewLater()
        return epoch
      }
      await pause(this.#clock, LOOK_EVERY, signal)
    }
    return undefined
  }

  /** Lets another holder in at once. The connections that carry the epoch must be closed before. */
  async release(): Promise<void> {
    const epoch = this.#stop()
    if (epoch !== undefined) {
      await this.#ask('SELECT canvas.lease_release($1, $2) AS answer', [LEASE, epoch]).catch((error: unknown) =>
        this.#options.log.warn({ err: error }, 'the lease was not released and has to run out'),
      )
    }
    await this.#disconnect()
  }

  /** Stops renewing and leaves the lease to run out, as a holder that dies does. */
  async forget(): Promise<void> {
    this.#stop()
    await this.#disconnect()
  }

  async #tryAcquire(): Promise<number | null> {
    try {
      const answer = await this.#ask<string | null>(
        "SELECT canvas.lease_acquire($1, $2, $3 * interval '1 ms') AS answer",
        [LEASE, this.#holder, this.#options.ttl ?? 3000],
      )
      return answer === null ? null : Number(answer)
    } catch (error) {
      if (!isConnectionLoss(error) && !isContention(error)) throw toSvcError(error)
      this.#options.log.warn({ err: error }, 'the lease could not be asked for; trying again')
      return null
    }
  }

  #renewLater(): void {
    this.#callOff = this.#clock.after(this.#options.renewEvery ?? 1000, () => void this.#renew())
  }

  async #renew(): Promise<void> {
    const epoch = this.#epoch
    if (epoch === undefined) return
    const kept = await this.#ask<boolean>("SELECT canvas.lease_renew($1, $2, $3 * interval '1 ms') AS answer", [
      LEASE,
      epoch,
      this.#options.ttl ?? 3000,
    ]).catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'the lease was not renewed; trying again')
      return true
    })
    if (this.#epoch !== epoch) return
    if (kept) return this.#renewLater()
    this.#stop()
    this.#holder = `${this.#options.holder}/${randomUUID()}`
    this.#options.log.error({ epoch, holder: this.#options.holder }, 'the lease was lost to another process')
    this.#options.onLost()
  }

  #stop(): number | undefined {
    const epoch = this.#epoch
    this.#epoch = undefined
    this.#callOff?.()
    return epoch
  }

  /** A connection of its own: a busy pool must not hold up a renewal. */
  async #ask<T>(text: string, values: unknown[]): Promise<T> {
    try {
      this.#client ??= await this.#connect()
      const { rows } = await this.#client.query<{ answer: T }>(text, values)
      return rows[0]?.answer as T
    } catch (error) {
      await this.#disconnect()
      throw error
    }
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: 'svc lease',
      options: `-c lock_timeout=${LOCK_TIMEOUT} -c statement_timeout=${LOCK_TIMEOUT + 1000}`,
      connectionTimeoutMillis: 2000,
      query_timeout: LOCK_TIMEOUT + 2000,
      keepAlive: true,
    })
    client.on('error', (error) => this.#options.log.debug({ err: error }, 'the connection of the lease was lost'))
    await client.connect()
    return client
  }

  async #disconnect(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    await client
      ?.end()
      .catch((error: unknown) => this.#options.log.debug({ err: error }, 'the connection of the lease was lost'))
  }
}
