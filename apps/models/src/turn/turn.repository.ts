import type { LlmAnswer } from '#common/contract/index.js'
import { json } from '#common/kernel/database/column-types.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'
import type { ErrorWire } from '#common/kernel/errors.js'

/** A step of a node's turn, whose model call is bought once. */
export interface StepKey {
  readonly nodeId: string
  readonly turn: number
  readonly step: number
}

export interface Claim {
  readonly attempt: number
  /** Earlier attempts whose end nobody saw. */
  readonly unknown: number
}

export interface RecordedCall extends Claim {
  readonly status: 'started' | 'completed' | 'failed' | 'outcome_unknown'
  readonly holder: string
  readonly requestHash: string
  readonly answer: LlmAnswer | null
}

export type CallEnd =
  | { readonly status: 'completed'; readonly answer: LlmAnswer }
  | { readonly status: 'failed'; readonly error: ErrorWire }

const OF_STEP = 'node_id = $1::text AND turn = $2::int AND step = $3::int'

const CLAIM = `WITH known AS (SELECT attempt, status FROM models.calls WHERE ${OF_STEP}),
  made AS (
    INSERT INTO models.calls (node_id, turn, step, attempt, request_hash, status, holder, started_at)
    SELECT $1::text, $2::int, $3::int, coalesce(max(attempt), 0) + 1, $4, 'started', $5, $6 FROM known
    HAVING count(*) FILTER (WHERE status IN ('started', 'completed')) = 0
    ON CONFLICT DO NOTHING RETURNING attempt)
  SELECT attempt, (SELECT count(*) FROM known WHERE status = 'outcome_unknown') AS unknown FROM made`

const NEWEST = `SELECT attempt, status, holder, request_hash AS "requestHash", response AS answer,
    (SELECT count(*) FROM models.calls WHERE ${OF_STEP} AND status = 'outcome_unknown') AS unknown
  FROM models.calls WHERE ${OF_STEP} ORDER BY attempt DESC LIMIT 1`

const FORSAKE = `UPDATE models.calls SET status = 'outcome_unknown', ended_at = $6
  WHERE ${OF_STEP} AND attempt = $4 AND holder = $5 AND status = 'started'`

const OPEN_HOLDERS = "SELECT DISTINCT holder FROM models.calls WHERE status = 'started'"

const FORSAKE_ALL = `UPDATE models.calls SET status = 'outcome_unknown', ended_at = $2
  WHERE holder = $1 AND status = 'started' RETURNING 1`

const EXPIRE = `UPDATE models.calls SET status = 'outcome_unknown'
  WHERE ${OF_STEP} AND attempt = $4 AND status = 'completed' AND response IS NULL`

const DROP_ANSWERS = `UPDATE models.calls SET response = NULL
  WHERE (node_id, turn, step, attempt) IN (
    SELECT node_id, turn, step, attempt FROM models.calls
     WHERE response IS NOT NULL AND started_at < $1 AND ended_at < $1 ORDER BY started_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  RETURNING 1`

const NOTE_DROPPED = `INSERT INTO models.retention AS kept (class, last_run_at, removed, removed_total) VALUES ('answers', $1, $2, $2)
  ON CONFLICT (class) DO UPDATE SET last_run_at = excluded.last_run_at, removed = excluded.removed,
    removed_total = kept.removed_total + excluded.removed`

const FINISH = `UPDATE models.calls SET status = $6, ended_at = $7, provider = $8, model = $9, response = $10, error = $11,
    input_tokens = $12, output_tokens = $13, cached_tokens = $14, cost_usd = $15
  WHERE ${OF_STEP} AND attempt = $4 AND holder = $5 AND status = 'started'`

const ofStep = ({ nodeId, turn, step }: StepKey): unknown[] => [nodeId, turn, step]

/** The journal of the turns' model calls. */
export class TurnRepository {
  /** Records that a new attempt begins, unless one runs or has succeeded; one statement, one round trip. */
  async claim(
    reader: Reader,
    key: StepKey,
    by: { hash: string; holder: string; now: number },
  ): Promise<Claim | undefined> {
    const [made] = await reader.query<Claim>(CLAIM, [...ofStep(key), by.hash, by.holder, new Date(by.now)])
    return made
  }

  /** The newest attempt of a step. */
  async newest(reader: Reader, key: StepKey): Promise<RecordedCall | undefined> {
    const [row] = await reader.query<RecordedCall>(NEWEST, ofStep(key))
    return row
  }

  /** Gives up an attempt whose holder is gone: whether it was answered, and paid for, nobody knows. */
  async forsake(reader: Reader, key: StepKey, { attempt, holder }: RecordedCall, now: number): Promise<void> {
    await reader.query(FORSAKE, [...ofStep(key), attempt, holder, new Date(now)])
  }

  /** Names of all that hold attempts without an end. */
  async openHolders(reader: Reader): Promise<string[]> {
    return (await reader.query<{ holder: string }>(OPEN_HOLDERS)).map(({ holder }) => holder)
  }

  /** As `forsake`, of everything that a holder left open; answers how many attempts that were. */
  async forsakeAll(reader: Reader, holder: string, now: number): Promise<number> {
    return (await reader.query(FORSAKE_ALL, [holder, new Date(now)])).length
  }

  /** Gives up an attempt whose answer was kept no longer: what it said nobody knows any more. */
  async expire(reader: Reader, key: StepKey, { attempt }: RecordedCall): Promise<void> {
    await reader.query(EXPIRE, [...ofStep(key), attempt])
  }

  /** Forgets what the oldest answers said that ended before then; the record of the call stays. Answers how many. */
  async dropAnswers(reader: Reader, before: number, limit: number): Promise<number> {
    return (await reader.query(DROP_ANSWERS, [new Date(before), limit])).length
  }

  async noteDropped(reader: Reader, dropped: number, now: number): Promise<void> {
    await reader.query(NOTE_DROPPED, [new Date(now), dropped])
  }

  /** Records an attempt's end; answers whether it was still open. */
  async finish(
    tx: Tx,
    key: StepKey,
    by: { attempt: number; holder: string; now: number },
    end: CallEnd,
  ): Promise<boolean> {
    const answer = end.status === 'completed' ? end.answer : undefined
    const slash = answer?.model.indexOf('/') ?? 0
    const changed = await tx.count(FINISH, [
      ...ofStep(key),
      by.attempt,
      by.holder,
      end.status,
      new Date(by.now),
      answer?.model.slice(0, slash) ?? null,
      answer?.model.slice(slash + 1) ?? null,
      json(answer),
      end.status === 'failed' ? json(end.error) : null,
      answer?.usage.input_tokens ?? 0,
      answer?.usage.output_tokens ?? 0,
      answer?.usage.cached_tokens ?? 0,
      answer?.usage.cost_usd ?? 0,
    ])
    return changed > 0
  }
}
