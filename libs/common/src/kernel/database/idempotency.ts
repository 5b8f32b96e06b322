import { createHash } from 'node:crypto'
import type { Clock } from '../clock.js'
import { SvcError } from '../errors.js'
import { json } from './column-types.js'
import { sqlState } from './sql-errors.js'
import type { Reader, Tx } from './tx.js'

/** What a key stands for: the same key with another operation or another input is refused. */
export interface KeyedRequest {
  readonly operation: string
  readonly input: unknown
}

export interface Keyed {
  readonly principal: string
  readonly key: string
  readonly request: KeyedRequest
}

/** How long in ms a first answer is kept. */
export const KEPT_FOR = 24 * 3600_000
const LOCK_NOT_AVAILABLE = '55P03'

/** JSON with the keys of every object in order, so that two spellings of one value are one text. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  ) ?? ''

export const requestHash = ({ operation, input }: KeyedRequest): Buffer =>
  createHash('sha256')
    .update(`${operation}\n${canonical(input)}`)
    .digest()

/** First answers by principal and key, in the same transaction as what they answer for. */
export class IdempotencyKeys {
  readonly #clock: Clock
  readonly #claim: string
  readonly #read: string
  readonly #look: string
  readonly #keep: string
  readonly #prune: string

  /** @param keptWhile a condition in SQL on a row `kept` that is not to be forgotten though its time is over */
  constructor(schema: string, clock: Clock, keptWhile = 'false') {
    this.#clock = clock
    // a row that another transaction is inserting is waited for, at most for the connection's lock_timeout (2 s)
    this.#claim = `INSERT INTO ${schema}.idempotency AS kept (principal, key, operation, body_hash, created_at, expires_at)
      VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (principal, key) DO UPDATE SET operation = excluded.operation, body_hash = excluded.body_hash,
        response = NULL, created_at = excluded.created_at, expires_at = excluded.expires_at
      WHERE kept.expires_at <= excluded.created_at AND NOT (${keptWhile}) RETURNING 1`
    this.#read = `SELECT body_hash, response FROM ${schema}.idempotency WHERE principal = $1 AND key = $2`
    this.#look = `SELECT body_hash, expires_at FROM ${schema}.idempotency WHERE principal = $1 AND key = $2`
    this.#keep = `UPDATE ${schema}.idempotency SET response = $3 WHERE principal = $1 AND key = $2`
    this.#prune = `DELETE FROM ${schema}.idempotency AS kept WHERE kept.expires_at <= $1 AND NOT (${keptWhile})`
  }

  /**
   * Takes the key for this transaction, or answers what its first request was answered.
   *
   * @throws SvcError idempotency_key_reused, or idempotency_in_progress when the first one runs for more than 2 s.
   */
  async claim(tx: Tx, keyed: Keyed): Promise<{ readonly response: unknown } | undefined> {
    const { principal, key, request } = keyed
    const [hash, now] = [requestHash(request), this.#clock.now()]
    const values = [principal, key, request.operation, hash, new Date(now), new Date(now + KEPT_FOR)]
    try {
      if ((await tx.count(this.#claim, values)) === 1) return undefined
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error
      throw new SvcError('idempotency_in_progress', undefined, {}, { cause: error })
    }
    const [first] = await tx.query<{ body_hash: Buffer; response: unknown }>(this.#read, [principal, key])
    if (!first || !hash.equals(first.body_hash)) throw new SvcError('idempotency_key_reused')
    return { response: first.response }
  }

  /**
   * For a request whose first step is taken elsewhere: that its key is not in the way of a later one here.
   *
   * @throws SvcError idempotency_key_reused
   */
  async requireOwn(reader: Reader, { principal, key, request }: Keyed): Promise<void> {
    const [first] = await reader.query<{ body_hash: Buffer; expires_at: Date }>(this.#look, [principal, key])
    if (!first || first.expires_at.getTime() <= this.#clock.now()) return
    if (!requestHash(request).equals(first.body_hash)) throw new SvcError('idempotency_key_reused')
  }

  keep(tx: Tx, keyed: Keyed, response: unknown): void {
    tx.send(this.#keep, [keyed.principal, keyed.key, json(response)])
  }

  prune(tx: Tx): Promise<number> {
    return tx.count(this.#prune, [new Date(this.#clock.now())])
  }
}
