import { json } from '#common/kernel/database/column-types.js'
import type { Reader, Tx } from '#common/kernel/database/tx.js'

/** A key under which events of an object were accepted. */
export interface KeyName {
  readonly object_id: string
  readonly key: string
}

/** A row of objects.keys. */
export interface AcceptedKey extends KeyName {
  /** Of the request, where another one under the same key is refused. */
  readonly hash: Buffer | null
  readonly seq: number
  readonly count: number
  readonly accepted_at: Date
  /** What was answered, where it doesn't follow from `seq` and `count`. */
  readonly answers: readonly KeptAnswer[] | null
}

export interface KeptAnswer {
  readonly seq: number
  readonly accepted_at: string
  readonly duplicate: boolean
}

/** A watcher that takes no more. */
export interface FullWatcher {
  readonly source_id: string
  readonly receiver_id: string
  /** Of an object. */
  readonly name: string | null
  /** Those that it watches for; none named: each. */
  readonly events: readonly string[]
}

/** What publishing for an object depends on. */
export interface ObjectStanding {
  readonly id: string
  readonly version: number
  readonly lives: boolean
  /** Whether events of it wait for their fan-out. */
  readonly fanning: boolean
  /** Its watchers that take no more. */
  readonly full_watchers: readonly FullWatcher[] | null
}

const sql = {
  // those that are gone are told apart here: a condition on it would open other indexes than that of the ids
  versions: `SELECT id, version, deleted_at IS NULL AS lives FROM objects.objects WHERE id = ANY ($1::text[])`,
  keys: `SELECT k.* FROM unnest($1::text[], $2::text[]) AS given (object_id, key) CROSS JOIN LATERAL (
      SELECT object_id, key, hash, seq, count, accepted_at, answers FROM objects.keys
      WHERE object_id = given.object_id AND key = given.key
    ) AS k`,
  // a key that is over may still be there
  keep: `INSERT INTO objects.keys (object_id, key, hash, seq, count, accepted_at, answers)
    SELECT * FROM unnest($1::text[], $2::text[], $3::bytea[], $4::bigint[], $5::int[], $6::timestamptz[], $7::json[])
    ON CONFLICT (object_id, key) DO UPDATE SET hash = excluded.hash, seq = excluded.seq, count = excluded.count,
      accepted_at = excluded.accepted_at, answers = excluded.answers`,
  // the full ones are few: from them to what they watch
  standings: `SELECT given.id, o.version, o.deleted_at IS NULL AS lives,
      EXISTS (SELECT FROM objects.fanouts f WHERE f.source_id = given.id) AS fanning,
      (SELECT json_agg(json_build_object('source_id', given.id, 'receiver_id', f.receiver_id, 'events', w.events,
           'name', (SELECT name FROM objects.objects WHERE id = f.receiver_id)) ORDER BY f.receiver_id)
         FROM objects.full_receivers f CROSS JOIN LATERAL (
           SELECT events FROM objects.watches WHERE source_id = given.id AND watcher_id = f.receiver_id
         ) AS w) AS full_watchers
    FROM unnest($1::text[]) AS given (id) CROSS JOIN LATERAL (
      SELECT version, deleted_at FROM objects.objects WHERE id = given.id
    ) AS o`,
}

/** What the acceptance of events depends on, besides their source. */
export class AcceptanceRepository {
  /** Of those of these objects that are there. */
  async versions(reader: Reader, ids: readonly string[]): Promise<Map<string, number>> {
    const rows = await reader.query<{ id: string; version: number; lives: boolean }>(sql.versions, [ids])
    return new Map(rows.filter(({ lives }) => lives).map(({ id, version }) => [id, version]))
  }

  /** Those of these keys that were used after then. */
  async keys(reader: Reader, names: readonly KeyName[], after: Date): Promise<AcceptedKey[]> {
    if (names.length === 0) return []
    const rows = await reader.query<AcceptedKey>(sql.keys, [
      names.map((name) => name.object_id),
      names.map(({ key }) => key),
    ])
    // here, since a condition on the time would open the index of the times
    return rows.filter(({ accepted_at }) => accepted_at > after)
  }

  /** Of objects whose sources this transaction has locked. */
  keep(tx: Tx, keys: readonly AcceptedKey[]): void {
    if (keys.length === 0) return
    tx.send(sql.keep, [
      keys.map((key) => key.object_id),
      keys.map((key) => key.key),
      keys.map((key) => key.hash),
      keys.map((key) => key.seq),
      keys.map((key) => key.count),
      keys.map((key) => key.accepted_at),
      keys.map((key) => json(key.answers)),
    ])
  }

  /** Of those of these objects that have a row, also when they are deleted. */
  standings(reader: Reader, ids: readonly string[]): Promise<ObjectStanding[]> {
    return reader.query<ObjectStanding>(sql.standings, [ids])
  }
}
