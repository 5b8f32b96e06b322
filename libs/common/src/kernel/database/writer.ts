import { backoff, type Clock, pause, systemClock } from '../clock.js'
import type { Context } from '../context.js'
import { abortedBy, isSvcError, SvcError } from '../errors.js'
import type { Logger } from '../log.js'
import type { Database } from './database.js'
import type { EventLog, LoggedEvent } from './events.js'
import { IdempotencyKeys, type Keyed, type KeyedRequest } from './idempotency.js'
import type { Outbox } from './outbox.js'
import { isConnectionLoss, isContention, toSvcError } from './sql-errors.js'
import { Transaction } from './transaction.js'
import type { Tx } from './tx.js'

export interface WriterOptions {
  readonly database: Database
  /** Schema of the service, which holds its idempotency table. */
  readonly schema: 'canvas' | 'gateway' | 'models' | 'scheduler' | 'objects'
  readonly log: Logger
  /** Which kept answers outlive their 24 h: a condition in SQL on a row `kept`. */
  readonly keysKeptWhile?: string
  readonly clock?: Clock
  readonly events?: EventLog
  readonly outbox?: Outbox
  /** The live tail: given each transaction's events in order after its commit. May lose them; readers read rows. */
  readonly publish?: (events: readonly LoggedEvent[]) => void
}

export interface Written<T> {
  readonly value: T
  /** Whether `value` is the kept answer of an earlier request with the same key. */
  readonly replayed: boolean
}

/** A context inside a transaction. */
export type TxContext = Context & { readonly tx: Tx }
type Work<T> = (ctx: TxContext) => Promise<T>

const ATTEMPTS = 6
const BACKOFF = { base: 10, cap: 500 }

/**
 * Runs units of work as transactions. Record, history, events, outbox and idempotency record are committed together or
 * not at all; events are published and effects run only after commit. A crash in between loses nothing: readers read
 * rows, the relay reads the outbox.
 *
 * A transaction that lost a race (deadlock, serialization, lock timeout) or its connection before COMMIT is run again:
 * the work must touch nothing outside its transaction. A connection lost during COMMIT leaves the outcome unknown and
 * is answered with `service_unavailable`; a request with an idempotency key may simply be repeated.
 */
export class Writer {
  readonly #options: WriterOptions
  readonly #clock: Clock
  readonly #keys: IdempotencyKeys

  constructor(options: WriterOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#keys = new IdempotencyKeys(options.schema, this.#clock, options.keysKeptWhile)
  }

  /** One transaction around `work`; a call inside another joins it. */
  async transact<T>(ctx: Context, work: Work<T>): Promise<T> {
    return ctx.tx ? work(ctx as TxContext) : (await this.#persist(ctx, undefined, work)).value
  }

  /**
   * As `transact`, once for an idempotency key of the context: a repetition waits for the first and is given its answer,
   * which must be JSON. Without a key it is `transact`.
   *
   * @throws SvcError idempotency_key_reused, idempotency_in_progress
   */
  async once<T>(ctx: Context, request: KeyedRequest, work: Work<T>): Promise<Written<T>> {
    if (ctx.tx) return { value: await work(ctx as TxContext), replayed: false }
    const keyed = ctx.idempotencyKey && { principal: ctx.actor.principal, key: ctx.idempotencyKey, request }
    const written = await this.#persist(ctx, keyed || undefined, work)
    if (written.replayed && ctx.notes) ctx.notes.replayed = true
    return written
  }

  /** That the context's key, if it has one, stands for no other request here. @throws SvcError idempotency_key_reused */
  async requireOwnKey(ctx: Context, request: KeyedRequest): Promise<void> {
    const { actor, idempotencyKey: key } = ctx
    if (key) await this.#keys.requireOwn(this.#options.database, { principal: actor.principal, key, request })
  }

  /** Deletes kept answers older than 24 h, but those that `keysKeptWhile` holds; answers how many. */
  forgetExpiredKeys(ctx: Context): Promise<number> {
    return this.transact(ctx, ({ tx }) => this.#keys.prune(tx))
  }

  async #persist<T>(ctx: Context, keyed: Keyed | undefined, work: Work<T>): Promise<Written<T>> {
    for (let attempt = 0; ; attempt += 1) {
      this.#refuseLate(ctx)
      const outcome = await this.#attempt(ctx, keyed, work)
      if ('value' in outcome) return outcome
      if (!outcome.repeatable || attempt + 1 >= ATTEMPTS) throw toSvcError(outcome.error)
      this.#options.log.debug({ err: outcome.error, attempt }, 'a transaction is run again')
      await pause(this.#clock, backoff(attempt, BACKOFF.base, BACKOFF.cap), ctx.signal)
    }
  }

  async #attempt<T>(
    ctx: Context,
    keyed: Keyed | undefined,
    work: Work<T>,
  ): Promise<Written<T> | { readonly error: unknown; readonly repeatable: boolean }> {
    let tx: Transaction | undefined
    try {
      tx = await Transaction.begin(this.#options.database)
      const first = keyed && (await this.#keys.claim(tx, keyed))
      if (first) {
        await tx.abandon()
        return { value: first.response as T, replayed: true }
      }
      const value = await work({ ...ctx, tx })
      if (keyed) this.#keys.keep(tx, keyed, value)
      const logged = this.#writeCollected(ctx, tx)
      await tx.commit()
      this.#afterCommit(tx, await logged)
      return { value, replayed: false }
    } catch (thrown) {
      const error = tx?.rootCause(thrown) ?? thrown
      const repeatable = !isSvcError(error) && (isContention(error) || (isConnectionLoss(error) && !tx?.inDoubt))
      await tx?.abandon()
      return { error, repeatable }
    }
  }

  #writeCollected(ctx: Context, tx: Transaction): Promise<readonly LoggedEvent[]> {
    const { events, outbox, schema } = this.#options
    if (tx.messages.length) {
      if (!outbox) throw new Error(`the writer of ${schema} has no outbox`)
      outbox.write(tx, tx.messages)
    }
    if (!tx.events.length) return Promise.resolve([])
    if (!events) throw new Error(`the writer of ${schema} has no event log`)
    const logged = events.write(tx, ctx, tx.events)
    logged.catch(() => undefined) // commit throws the same error
    return logged
  }

  #afterCommit(tx: Transaction, logged: readonly LoggedEvent[]): void {
    const { publish, outbox, log } = this.#options
    const guarded = (effect: () => void | Promise<void>): void => {
      void (async () => effect())().catch((error: unknown) =>
        log.error({ err: error }, 'an effect after commit failed'),
      )
    }
    if (logged.length && publish) guarded(() => publish(logged))
    for (const effect of tx.effects) guarded(effect)
    if (tx.messages.length) guarded(() => outbox?.wake())
  }

  #refuseLate(ctx: Context): void {
    if (ctx.deadline !== undefined && ctx.deadline <= this.#clock.now()) throw new SvcError('deadline_exceeded')
    // what serves a request fires its signal at the deadline too, which the clock may reach a moment later
    if (ctx.signal.aborted) throw abortedBy(ctx.signal)
  }
}
