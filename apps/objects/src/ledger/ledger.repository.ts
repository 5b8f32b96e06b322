import type { LedgerState } from '#common/contract/ledger.operations.js'
import type { Actor } from '#common/kernel/context.js'
import type { Reader } from '#common/kernel/database/tx.js'
import { seenBy } from '../object/object.access.js'
import type { ReceiverRecord } from '../object/object.record.js'

interface Concerned {
  readonly receiver_id: string
  /** Null of a node. */
  readonly name: string | null
  readonly app_id: string | null
  readonly kind: ReceiverRecord['kind']
  readonly reason: ReceiverRecord['reason']
}

/** A delivery that was tried in vain. */
export interface FailureRow extends Concerned {
  readonly seq: number
  readonly state: 'failed' | 'dead'
  readonly attempt: number
  readonly next_attempt_at: Date | null
  readonly last_error: string
  readonly noted_at: Date
  readonly created_at: Date
}

/** Publications that a full receiver kept from being accepted. */
export interface RefusalRow extends Concerned {
  readonly source_id: string
  readonly source_name: string | null
  readonly count: number
  readonly first_at: Date
  readonly last_at: Date
  /** Whether it still takes no more. */
  readonly full: boolean
}

/** A paused receiver, with those of its deliveries that were never tried: the others have lines of their own. */
export interface HeldRow extends Concerned {
  readonly reason: NonNullable<ReceiverRecord['reason']>
  readonly paused_at: Date
  readonly waiting: number
  /** When the first of them came. */
  readonly first_at: Date
  /** When it was paused, or the last of them came. */
  readonly noted_at: Date
}

/** A node that takes nothing now, with the oldest of what waits for it. */
export interface RestingRow {
  readonly receiver_id: string
  readonly created_at: Date
  readonly pending: number
  readonly held_until: Date
}

export interface LedgerFilter {
  readonly actor: Actor
  readonly state: LedgerState | undefined
  readonly nodeId: string | undefined
  readonly objectId: string | undefined
  readonly appId: string | undefined
  readonly since: Date | undefined
  /** Only up to this moment, those of it included. */
  readonly until: Date | undefined
  readonly limit: number
  readonly now: Date
}

type Put = (value: unknown) => string

/**
 * Conditions on the object `o` that a line is about, and on the moment it became known. A line about a node is the owner's, and
 * that node's own.
 */
const conditionsOf = (
  { actor, nodeId, objectId, appId, since }: LedgerFilter,
  put: Put,
  { at, objects, receiver }: { at: string; objects: readonly string[]; receiver: string },
): string[] => {
  const seen = seenBy(actor, put, 'o').map((condition) => `(o.id IS NOT NULL AND ${condition})`)
  const own = actor.nodeId === undefined ? [] : [`${receiver} = ${put(actor.nodeId)}`]
  const object = objectId === undefined ? undefined : put(objectId)
  return [
    ...(seen.length === 0 ? [] : [`(${[...seen, ...own].join(' OR ')})`]),
    ...(nodeId === undefined ? [] : [`${receiver} = ${put(nodeId)}`]),
    ...(object === undefined ? [] : [`(${objects.map((column) => `${column} = ${object}`).join(' OR ')})`]),
    ...(appId === undefined ? [] : [`o.app_id = ${put(appId)}`]),
    ...(since === undefined ? [] : [`${at} >= ${put(since)}`]),
  ]
}

/**
 * Lines of the ledger by the moment at which they became known, the newest first. All of one moment come together: their order
 * among each other is that of their ids, which rows don't have.
 */
export class LedgerRepository {
  failures(reader: Reader, filter: LedgerFilter): Promise<FailureRow[]> {
    const state = filter.state === 'failed' ? 'dead' : filter.state === 'waiting' ? 'failed' : undefined
    return this.#page<FailureRow>(reader, filter, (put) => ({
      at: 'f.noted_at',
      text: `SELECT f.receiver_id, f.seq, f.state, f.attempt, f.next_attempt_at, f.last_error, f.noted_at, d.created_at,
                    o.name, o.app_id, r.kind, r.reason
               FROM objects.failures f
               JOIN objects.receivers r ON r.id = f.receiver_id
               JOIN objects.deliveries d ON d.receiver_id = f.receiver_id AND d.seq = f.seq
               LEFT JOIN objects.objects o ON o.id = f.receiver_id`,
      conditions: [
        ...conditionsOf(filter, put, { at: 'f.noted_at', objects: ['f.receiver_id'], receiver: 'f.receiver_id' }),
        ...(state === undefined ? [] : [`f.state = ${put(state)}`]),
      ],
    }))
  }

  /** What waits for a node is not tried one by one: nothing is noted of each. */
  resting(reader: Reader, filter: LedgerFilter): Promise<RestingRow[]> {
    return this.#page<RestingRow>(reader, filter, (put) => ({
      at: 'f.created_at',
      text: `SELECT r.id AS receiver_id, f.created_at, r.delivery_seq - a.acked_count AS pending, r.held_until
               FROM objects.receivers r
               JOIN objects.acks a ON a.receiver_id = r.id
               CROSS JOIN LATERAL (
                 SELECT created_at FROM objects.deliveries
                  WHERE receiver_id = r.id AND seq >= lower(int8multirange(int8range(1, NULL)) - a.acked)
                  ORDER BY seq LIMIT 1) f
               LEFT JOIN objects.objects o ON o.id = r.id`,
      conditions: [
        `r.due_at IS NOT NULL AND r.kind = 'node' AND r.holder IS NULL AND r.held_until > ${put(filter.now)}`,
        ...conditionsOf(filter, put, { at: 'f.created_at', objects: ['r.id'], receiver: 'r.id' }),
      ],
    }))
  }

  /**
   * What waits for a paused receiver is not tried: nothing is noted of each. The paused ones are few; each OFFSET keeps the
   * planner from going another way than from them on, by keys.
   */
  held(reader: Reader, filter: LedgerFilter): Promise<HeldRow[]> {
    return this.#page<HeldRow>(reader, filter, (put) => ({
      at: 'f.noted_at',
      text: `SELECT r.id AS receiver_id, r.kind, r.reason, r.paused_at, o.name, o.app_id, f.*
               FROM (SELECT * FROM objects.receivers WHERE paused_at IS NOT NULL OFFSET 0) r
               LEFT JOIN objects.objects o ON o.id = r.id
               CROSS JOIN LATERAL (
                 SELECT (SELECT sum(upper(run) - lower(run))::bigint FROM unnest(w.untried) AS run) AS waiting,
                        (SELECT created_at FROM objects.deliveries
                          WHERE receiver_id = r.id AND seq = lower(w.untried)) AS first_at,
                        greatest(r.paused_at, (SELECT created_at FROM objects.deliveries
                          WHERE receiver_id = r.id AND seq = upper(w.untried) - 1)) AS noted_at
                   FROM (SELECT int8multirange(int8range(1, r.delivery_seq + 1)) - acked - coalesce(
                                  (SELECT range_agg(int8range(seq, seq, '[]')) FROM objects.failures
                                    WHERE receiver_id = r.id), '{}') AS untried
                           FROM objects.acks WHERE receiver_id = r.id OFFSET 0) w
                  WHERE NOT isempty(w.untried) OFFSET 0) f`,
      conditions: conditionsOf(filter, put, { at: 'f.noted_at', objects: ['r.id'], receiver: 'r.id' }),
    }))
  }

  refusals(reader: Reader, filter: LedgerFilter): Promise<RefusalRow[]> {
    return this.#page<RefusalRow>(reader, filter, (put) => ({
      at: 'f.last_at',
      text: `SELECT f.source_id, f.receiver_id, f.count, f.first_at, f.last_at, o.name AS source_name, o.app_id,
                    full_one.name, r.kind, r.reason,
                    EXISTS (SELECT FROM objects.full_receivers WHERE receiver_id = f.receiver_id) AS full
               FROM objects.refusals f
               JOIN objects.receivers r ON r.id = f.receiver_id
               LEFT JOIN objects.objects o ON o.id = f.source_id
               LEFT JOIN objects.objects full_one ON full_one.id = f.receiver_id`,
      conditions: conditionsOf(filter, put, {
        at: 'f.last_at',
        objects: ['f.source_id', 'f.receiver_id'],
        receiver: 'f.receiver_id',
      }),
    }))
  }

  /** Those of the moment `until` whole, then as many as fit below it, the last moment of them whole too. */
  async #page<Row>(
    reader: Reader,
    { until, limit }: LedgerFilter,
    write: (put: Put) => { at: string; text: string; conditions: readonly string[] },
  ): Promise<Row[]> {
    const read = (
      bound: (at: string, put: Put) => string[],
      rest: (at: string, put: Put) => string,
    ): Promise<Row[]> => {
      const values: unknown[] = []
      const put: Put = (value) => `$${values.push(value)}`
      const { at, text, conditions } = write(put)
      const where = ['true', ...conditions, ...bound(at, put)].join(' AND ')
      return reader.query<Row>(`${text} WHERE ${where} ${rest(at, put)}`, values)
    }
    const newestFirst = (at: string, put: Put): string =>
      `ORDER BY ${at} DESC FETCH FIRST (${put(limit)}::bigint) ROWS WITH TIES`
    if (until === undefined) return read(() => [], newestFirst)
    const [those, older] = await Promise.all([
      read(
        (at, put) => [`${at} = ${put(until)}`],
        () => '',
      ),
      read((at, put) => [`${at} < ${put(until)}`], newestFirst),
    ])
    return [...those, ...older]
  }
}
