import type { LlmAnswer } from '#common/contract/index.js'
import { json } from '#common/kernel/database/column-types.js'
import { KEPT_FOR } from '#common/kernel/database/idempotency.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

/** A key of a principal. */
export interface CallKey {
  readonly principal: string
  readonly key: string
}

/** The first call under a key. */
export interface FirstCall {
  readonly hash: Buffer
  /** The process that sent it and has not recorded its end; null when nobody will. */
  readonly holder: string | null
  readonly answer: LlmAnswer | null
}

const OF_KEY = 'principal = $1 AND key = $2'

const TAKE = `INSERT INTO models.idempotency AS kept (principal, key, operation, body_hash, holder, created_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (principal, key) DO UPDATE SET operation = excluded.operation, body_hash = excluded.body_hash,
    response = NULL, holder = excluded.holder, created_at = excluded.created_at, expires_at = excluded.expires_at
  WHERE kept.expires_at <= excluded.created_at RETURNING 1`

const FIRST = `SELECT body_hash AS hash, holder, response AS answer FROM models.idempotency WHERE ${OF_KEY}`

/** Of a call that was taken for lost as well: what it answered is known after all. */
const KEEP = `UPDATE models.idempotency SET response = $4, holder = NULL
  WHERE ${OF_KEY} AND response IS NULL AND (holder = $3 OR holder IS NULL)`

const RELEASE = `DELETE FROM models.idempotency WHERE ${OF_KEY} AND holder = $3`

const FORSAKE = `UPDATE models.idempotency SET holder = NULL WHERE ${OF_KEY} AND holder = $3`

/** The keys of single model calls: taken before a call is sent, answered when its answer is here. */
export class CallKeyRepository {
  /** Takes the key for a process, for 24 h; false when another request has it. */
  async take(
    reader: Reader,
    { principal, key }: CallKey,
    by: { operation: string; hash: Buffer; holder: string; now: number },
  ): Promise<boolean> {
    const [at, until] = [new Date(by.now), new Date(by.now + KEPT_FOR)]
    return (await reader.query(TAKE, [principal, key, by.operation, by.hash, by.holder, at, until])).length > 0
  }

  async first(reader: Reader, { principal, key }: CallKey): Promise<FirstCall | undefined> {
    const [row] = await reader.query<FirstCall>(FIRST, [principal, key])
    return row
  }

  keep(tx: Tx, { principal, key }: CallKey, holder: string, answer: LlmAnswer): void {
    tx.send(KEEP, [principal, key, holder, json(answer)])
  }

  /** Gives the key back: nothing was bought under it. */
  async release(reader: Reader, { principal, key }: CallKey, holder: string): Promise<void> {
    await reader.query(RELEASE, [principal, key, holder])
  }

  /** Gives up a call that was cut off: whether it was answered, and paid for, nobody knows. */
  async forsake(reader: Reader, { principal, key }: CallKey, holder: string): Promise<void> {
    await reader.query(FORSAKE, [principal, key, holder])
  }
}
