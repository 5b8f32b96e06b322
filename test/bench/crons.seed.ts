import type { AdminConnection } from '#common/testing/admin-connection.js'

export interface SeededCrons {
  /** Numbers of their ids: from here on, so many. */
  readonly from: number
  readonly count: number
  /** When the first one is due (ms since the epoch), and ms from one to the next. */
  readonly due: number
  readonly apart: number
  /** Nodes that are sent a message, by turns. */
  readonly targets: readonly string[]
}

const owner = { kind: 'owner', principal: 'owner', node_id: null, app_id: null, profile: null, scopes: ['*'] }

/** Arms schedules that fire once past the API, for there is no quicker way to many. Their timers are not set by it. */
export const seedCrons = async (database: AdminConnection, seeded: SeededCrons): Promise<void> => {
  const { from, count, due, apart, targets } = seeded
  await database.rows(
    `INSERT INTO scheduler.crons (id, name, owner_path, authority, created_by, schedule, action, target_node_id, missed,
        catchup_window_s, overlap, jitter_s, max_failures, delete_after_run, status, consecutive_failures, anchor_at,
        next_slot, next_due, version, created_at, updated_at)
      SELECT ${idOf('i')}, 'bench ' || i, '{}', $6::json, '{"kind":"owner","id":"owner"}',
             json_build_object('at', to_char(slot AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
             json_build_object('type', 'message', 'node_id', target, 'body', 'it is time', 'tier', 'deferred'), target, 'once',
             3600, 'skip', 0, 3, false, 'active', 0, now(), slot, slot, 1, now(), now()
        FROM (SELECT i, to_timestamp(($3 + (i - $1) * $4::float) / 1000.0)::timestamptz(3) AS slot,
                     ($5::text[])[1 + i % cardinality($5::text[])] AS target
                FROM generate_series($1::bigint, $1::bigint + $2::bigint - 1) AS i) AS drawn`,
    [from, count, due, apart, targets, JSON.stringify(owner)],
  )
  await database.run('ANALYZE scheduler.crons')
}

const idOf = (number: string): string => `'cron_01' || lpad((${number})::text, 24, '0')`

/** ms from the moment at which each was due. */
export interface Firing {
  /** To when it was fired, by the scheduler's word. */
  readonly fired: number
  /** To when its work was accepted. */
  readonly accepted: number
}

/** Of those seeded that have been fired, by the order of their numbers. */
export const firingsOf = (database: AdminConnection, { from, count }: SeededCrons): Promise<Firing[]> =>
  database.rows<Firing>(
    `SELECT (extract(epoch FROM f.fired_at - f.due_at) * 1000)::float AS fired,
            (extract(epoch FROM w.accepted_at - f.due_at) * 1000)::float AS accepted
       FROM scheduler.fires f
       JOIN canvas.works w ON w.key = f.cron_id || ':' || (extract(epoch FROM f.slot) * 1000)::bigint
      WHERE f.cron_id BETWEEN ${idOf('$1::bigint')} AND ${idOf('$2::bigint')} ORDER BY f.cron_id`,
    [from, from + count - 1],
  )
