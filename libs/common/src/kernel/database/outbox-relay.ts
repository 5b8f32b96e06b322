import { backoff, type Clock, systemClock } from '../clock.js'
import type { Logger } from '../log.js'
import type { DueMessage, Outbox } from './outbox.js'
import type { Reader } from './tx.js'

/** Hands one message to its target's service. Resolves once that has stored or refused it for good; anything thrown is tried again. */
export type Deliver = (message: DueMessage) => Promise<void>

export interface RelayOptions {
  readonly reader: Reader
  readonly outbox: Outbox
  readonly deliver: Deliver
  readonly log: Logger
  readonly clock?: Clock
  /** The net in ms for messages that no wake-up announced, and the rest while nothing is taken; 5,000 unless given. */
  readonly poll?: number
}

interface Failed {
  readonly message: DueMessage
  readonly error: unknown
}

const BATCH = 32
/** Seconds that a claim lasts: a message of a relay that died is delivered again after them. Above any delivery's timeout. */
const CLAIM_SECONDS = 15
const RETRY = { base: 200, cap: 60_000 }
const KEEP_ACKNOWLEDGED = '7 days'
/** Ms between two clearances of messages that were acknowledged longer ago. */
const PRUNE_EVERY = 6 * 3_600_000

/**
 * Delivers the open messages of an outbox, each at least once. Several relays may work on one outbox: a claim is a short
 * statement with SKIP LOCKED, and no transaction stays open during a delivery.
 */
export class OutboxRelay {
  readonly #options: RelayOptions
  readonly #clock: Clock
  readonly #sql: Record<'claim' | 'acknowledge' | 'postpone' | 'prune', string>
  #stopWaking: (() => void) | undefined
  #callOff: (() => void) | undefined
  #callOffPruning: (() => void) | undefined
  #running: Promise<void> | undefined
  #again = false
  #resting = false
  #stopped = true

  constructor(options: RelayOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    const table = `${options.outbox.schema}.outbox`
    this.#sql = {
      claim: `UPDATE ${table} SET attempts = attempts + 1, next_attempt_at = now() + interval '${CLAIM_SECONDS} seconds'
        WHERE id IN (SELECT id FROM ${table} WHERE acknowledged_at IS NULL AND next_attempt_at <= now()
          ORDER BY next_attempt_at, id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
        RETURNING id, key, target, type, payload, attempts`,
      acknowledge: `UPDATE ${table} SET acknowledged_at = now(), last_error = NULL WHERE id = ANY ($1::bigint[])`,
      postpone: `UPDATE ${table} SET next_attempt_at = now() + $2 * interval '1 millisecond', last_error = $3
        WHERE id = $1 AND acknowledged_at IS NULL`,
      prune: `DELETE FROM ${table} WHERE acknowledged_at < now() - interval '${KEEP_ACKNOWLEDGED}'`,
    }
  }

  start(): void {
    this.#stopped = false
    this.#resting = false
    this.#stopWaking = this.#options.outbox.onWritten(() => this.wake())
    this.wake()
    this.#keepPruned()
  }

  /** Stops claiming and waits for the deliveries under way. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#stopWaking?.()
    this.#callOff?.()
    this.#callOffPruning?.()
    await this.#running
  }

  wake(): void {
    this.#again = true
    if (this.#stopped || this.#resting) return
    this.#running ??= this.#drain().finally(() => {
      this.#running = undefined
      if (this.#again && !this.#resting) this.wake()
      else this.#sleep(this.#options.poll ?? 5000)
    })
  }

  #sleep(ms: number): void {
    this.#callOff?.()
    if (this.#stopped) return
    this.#callOff = this.#clock.after(ms, () => {
      this.#resting = false
      this.wake()
    })
  }

  async #drain(): Promise<void> {
    this.#again = false
    try {
      for (let claimed = BATCH; claimed === BATCH && !this.#stopped; ) {
        const messages = await this.#options.reader.query<DueMessage>(this.#sql.claim)
        claimed = messages.length
        const failed = await this.#handOver(messages)
        // the target is away: what waits for it, and be it thousands, is not tried message by message
        if (failed === BATCH) {
          this.#resting = true
          return
        }
      }
    } catch (error) {
      this.#options.log.warn({ err: error }, 'the outbox could not be read')
    }
  }

  /** All at once, and acknowledged by one statement. Answers how many were not taken. */
  async #handOver(messages: DueMessage[]): Promise<number> {
    const { deliver, reader, log } = this.#options
    const taken: number[] = []
    const failed: Failed[] = []
    const hand = async (message: DueMessage): Promise<void> => {
      try {
        await deliver(message)
        taken.push(message.id)
      } catch (error) {
        failed.push({ message, error })
      }
    }
    await Promise.all(messages.sort((a, b) => a.id - b.id).map(hand))
    if (taken.length > 0) await reader.query(this.#sql.acknowledge, [taken])
    await Promise.all(failed.map((one) => this.#postpone(one)))
    const [first] = failed
    if (first) {
      const { key, attempts } = first.message
      log.warn({ err: first.error, key, attempts, messages: failed.length }, 'a message was not taken')
    }
    return failed.length
  }

  async #postpone({ message, error }: Failed): Promise<void> {
    const wait = RETRY.base + backoff(message.attempts, RETRY.base, RETRY.cap)
    await this.#options.reader.query(this.#sql.postpone, [message.id, wait, String(error).slice(0, 500)])
    this.#clock.after(wait + 20, () => this.wake())
  }

  #keepPruned(): void {
    this.prune().catch((err: unknown) => this.#options.log.warn({ err }, 'the outbox was not pruned'))
    this.#callOffPruning = this.#clock.after(PRUNE_EVERY, () => this.#keepPruned())
  }

  /** Deletes messages acknowledged more than 7 days ago; it happens by itself while the relay runs. */
  async prune(): Promise<void> {
    await this.#options.reader.query(this.#sql.prune)
  }
}
