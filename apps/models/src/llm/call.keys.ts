import type { LlmAnswer } from '#common/contract/index.js'
import { type Clock, pause } from '#common/kernel/clock.js'
import type { Database } from '#common/kernel/database/database.js'
import { type KeyedRequest, requestHash } from '#common/kernel/database/idempotency.js'
import type { Tx } from '#common/kernel/database/tx.js'
import { SvcError } from '#common/kernel/errors.js'
import type { Logger } from '#common/kernel/log.js'
import type { DatabaseSession } from '../session/database-session.repository.js'
import type { Holders } from '../session/holder.repository.js'
import type { CallKey, CallKeyRepository } from './call-key.repository.js'

/** Ms for which a repetition waits for the first call, and between two looks at it. */
const waitFor = 2000
const lookEvery = 250

const nameOf = ({ principal, key }: CallKey): string => `${principal}\n${key}`

/** A key that is taken, until the call's end is told by one of these. */
export interface TakenKey {
  /** In the transaction that accounts for the call. */
  readonly keep: (tx: Tx, answer: LlmAnswer) => void
  /** The call failed and said so: the next request under the key is a new one. */
  readonly release: () => Promise<void>
  /** The call was cut off: nobody knows its end. */
  readonly forsake: () => Promise<void>
  /** This process works on it no longer. */
  readonly done: () => void
}

/**
 * Sees to it that a model call is sent once for an idempotency key. The key is taken, durably, before anything is sent.
 * What a process that is gone left without an end is `outcome_unknown` for ever: the call may have been paid for.
 */
export class CallKeys {
  /** How many requests of this process hold each key or try to take it. */
  readonly #here = new Map<string, number>()

  constructor(
    private readonly database: Database,
    private readonly rows: CallKeyRepository,
    private readonly session: DatabaseSession,
    private readonly holders: Holders,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /**
   * Takes the key, or answers what the first request under it was answered. Waits 2 s for a first one that runs.
   *
   * @throws SvcError idempotency_key_reused, idempotency_in_progress, outcome_unknown
   */
  async take(key: CallKey, request: KeyedRequest, signal: AbortSignal): Promise<TakenKey | { answer: LlmAnswer }> {
    const hash = requestHash(request)
    const until = this.clock.monotonic() + waitFor
    for (;;) {
      await this.session.held(signal)
      const taken = await this.#try(key, request.operation, hash)
      const answer = taken ? undefined : await this.#answerOf(key, hash)
      if (taken) return taken
      if (answer) return { answer }
      if (this.clock.monotonic() >= until) throw new SvcError('idempotency_in_progress')
      await pause(this.clock, lookEvery, signal)
      signal.throwIfAborted()
    }
  }

  async #try(key: CallKey, operation: string, hash: Buffer): Promise<TakenKey | undefined> {
    const { holder } = this.session
    this.#count(key, 1) // before the row is there, lest a twin take it for one that nobody works on
    let taken = false
    try {
      taken = await this.rows.take(this.database, key, { operation, hash, holder, now: this.clock.now() })
    } finally {
      if (!taken) this.#count(key, -1)
    }
    return taken ? this.#taken(key, holder) : undefined
  }

  #taken(key: CallKey, holder: string): TakenKey {
    return {
      keep: (tx, answer) => this.rows.keep(tx, key, holder, answer),
      release: () => this.#note(() => this.rows.release(this.database, key, holder)),
      forsake: () => this.#note(() => this.rows.forsake(this.database, key, holder)),
      done: () => this.#count(key, -1),
    }
  }

  /** What can't be noted now is found later: the row says that this process works on it, and it doesn't. */
  async #note(write: () => Promise<void>): Promise<void> {
    try {
      await write()
    } catch (err) {
      this.log.warn({ err }, 'the end of a keyed model call was not recorded')
    }
  }

  /** Of a key that is taken: its answer, or undefined while its call runs. */
  async #answerOf(key: CallKey, hash: Buffer): Promise<LlmAnswer | undefined> {
    const first = await this.rows.first(this.database, key)
    if (!first) return undefined
    if (!hash.equals(first.hash)) throw new SvcError('idempotency_key_reused')
    if (first.answer) return first.answer
    if (first.holder !== null && !(await this.#isLost(key, first.holder))) return undefined
    if (first.holder !== null) await this.rows.forsake(this.database, key, first.holder)
    throw new SvcError('outcome_unknown', 'The model call under this key was cut off; it may have been paid for.')
  }

  /** Whether the process that sent the call will never record its end. */
  async #isLost(key: CallKey, holder: string): Promise<boolean> {
    return holder === this.session.holder ? !this.#here.has(nameOf(key)) : this.holders.isDead(holder)
  }

  #count(key: CallKey, change: number): void {
    const name = nameOf(key)
    const count = (this.#here.get(name) ?? 0) + change
    if (count > 0) this.#here.set(name, count)
    else this.#here.delete(name)
  }
}
