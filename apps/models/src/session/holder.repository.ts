import type { Clock } from '#common/kernel/clock.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { lockKeyOf } from './database-session.repository.js'

/** Seconds after its start in which the database can't tell the dead from those who are still reconnecting. */
const GRACE_SECONDS = 3
/** Ms between the two looks that it takes to call a holder dead. */
const SECOND_LOOK = 500

const LOOK = `SELECT EXISTS (
    SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
      AND classid = $1::bigint::oid AND objid = $2::bigint::oid
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  ) AS locked,
  now() - pg_postmaster_start_time() < interval '${GRACE_SECONDS} seconds' AS fresh`

/** Tells whether other incarnations of this service live, by their locks. "Can't tell" counts as alive. */
export class Holders {
  readonly #missed = new Map<string, number>()

  constructor(
    private readonly reader: Reader,
    private readonly clock: Clock,
  ) {}

  /** Dead only when its lock was missing on two looks, so that a holder whose connection just broke can come back. */
  async isDead(holder: string): Promise<boolean> {
    const key = lockKeyOf(holder)
    if (!key) return true
    const [seen] = await this.reader.query<{ locked: boolean; fresh: boolean }>(LOOK, [key.high, key.low])
    if (!seen || seen.locked || seen.fresh) {
      this.#missed.delete(holder)
      return false
    }
    const first = this.#missed.get(holder) ?? this.clock.monotonic()
    this.#missed.set(holder, first)
    return this.clock.monotonic() - first >= SECOND_LOOK
  }
}
