import type { Rule } from '../canvas.rules.js'

/** What must hold of all events and deliveries at any time. */
export const objectRules: readonly Rule[] = [
  {
    says: 'the events of a source are numbered without a gap',
    sql: `SELECT s.id || ' counts ' || s.event_seq || ', and has ' || count(e.seq) || ' up to ' || coalesce(max(e.seq), 0) AS text
            FROM objects.sources s LEFT JOIN objects.events e ON e.source_id = s.id
           GROUP BY s.id HAVING s.event_seq <> count(e.seq) OR s.event_seq <> coalesce(max(e.seq), 0)`,
  },
  {
    says: 'the deliveries of a receiver are numbered without a gap',
    sql: `SELECT r.id || ' counts ' || r.delivery_seq || ', and has ' || count(d.seq) || ' up to ' || coalesce(max(d.seq), 0) AS text
            FROM objects.receivers r JOIN objects.acks a ON a.receiver_id = r.id
            LEFT JOIN objects.deliveries d ON d.receiver_id = r.id
           GROUP BY r.id, a.pruned_seq
          HAVING r.delivery_seq - a.pruned_seq <> count(d.seq) OR r.delivery_seq <> coalesce(max(d.seq), a.pruned_seq)`,
  },
  {
    says: 'a receiver is given an event once',
    sql: `SELECT receiver_id || ': ' || source_id || ' ' || source_seq || ', ' || count(*) || ' times' AS text
            FROM objects.deliveries GROUP BY receiver_id, source_id, source_seq HAVING count(*) > 1`,
  },
  {
    says: 'deliveries keep the order of their source',
    sql: `SELECT receiver_id || ': ' || source_id || ' ' || source_seq || ' after ' || before AS text
            FROM (SELECT *, lag(source_seq) OVER (PARTITION BY receiver_id, source_id ORDER BY seq) AS before
                    FROM objects.deliveries) AS d
           WHERE before > source_seq`,
  },
  {
    says: 'what is delivered was published, and is watched',
    sql: `SELECT d.receiver_id || ' ' || d.seq || ' is ' || d.source_id || ' ' || d.source_seq AS text
            FROM objects.deliveries d
            LEFT JOIN objects.events e ON e.source_id = d.source_id AND e.seq = d.source_seq
            LEFT JOIN objects.watches w ON w.source_id = d.source_id AND w.watcher_id = d.receiver_id
           WHERE e.seq IS NULL OR w.source_id IS NULL OR NOT (w.events = '{}' OR e.event = ANY (w.events))`,
  },
  {
    says: 'as many are acknowledged as are counted, and none that never was',
    sql: `SELECT a.receiver_id || ' counts ' || a.acked_count || ' of ' || a.acked || ', ' || r.delivery_seq || ' deliveries' AS text
            FROM objects.acks a JOIN objects.receivers r ON r.id = a.receiver_id
           WHERE a.acked_count <> (SELECT coalesce(sum(upper(part) - lower(part)), 0) FROM unnest(a.acked) AS part)
              OR upper(a.acked) > r.delivery_seq + 1 OR lower(a.acked) < 1`,
  },
  {
    says: 'what is acknowledged has not failed',
    sql: `SELECT f.receiver_id || ' ' || f.seq || ' is ' || f.state AS text
            FROM objects.failures f JOIN objects.acks a ON a.receiver_id = f.receiver_id WHERE a.acked @> f.seq`,
  },
  {
    says: 'no delivery is dead, and no receiver is paused',
    sql: `SELECT receiver_id || ' ' || seq || ': ' || last_error AS text FROM objects.failures WHERE state = 'dead'
           UNION ALL SELECT id || ' is paused: ' || reason FROM objects.receivers WHERE status = 'paused'`,
  },
  {
    says: 'a key names events of its object',
    sql: `SELECT k.object_id || ' ' || k.key || ' is ' || named.seq AS text
            FROM objects.keys k CROSS JOIN LATERAL (
                   SELECT (a->>'seq')::bigint AS seq FROM json_array_elements(k.answers) AS a
                   UNION ALL SELECT k.seq + k.count - 1 WHERE k.answers IS NULL) AS named
            LEFT JOIN objects.events e ON e.source_id = k.object_id AND e.seq = named.seq
           WHERE e.seq IS NULL`,
  },
  {
    says: 'a delivery is one piece of mail of its node',
    sql: `SELECT m.node_id || ': ' || (m.source->'event'->>'id') || ', ' || count(*) || ' times' AS text
            FROM canvas.mail m WHERE m.kind = 'event' GROUP BY m.node_id, m.source->'event'->>'id' HAVING count(*) > 1`,
  },
]

/** What must hold as soon as nothing is under way any more. */
export const objectRestRules: readonly Rule[] = [
  {
    says: 'no event waits for the rest of its watchers',
    sql: `SELECT source_id || ' ' || seq || ' after ' || after_watcher AS text FROM objects.fanouts`,
  },
  {
    says: 'whoever watches is given each event',
    sql: `SELECT e.source_id || ' ' || e.seq || ' (' || e.event || ') is missing at ' || w.watcher_id AS text
            FROM objects.events e
            JOIN objects.watches w ON w.source_id = e.source_id AND (w.events = '{}' OR e.event = ANY (w.events))
            LEFT JOIN objects.deliveries d
              ON d.receiver_id = w.watcher_id AND d.source_id = e.source_id AND d.source_seq = e.seq
           WHERE d.seq IS NULL`,
  },
  {
    says: 'what is to be sent is sent',
    sql: `SELECT r.id || ' (' || r.kind || '): ' || a.acked_count || ' of ' || r.delivery_seq || ' acknowledged, due '
                 || coalesce(r.due_at::text, 'never') AS text
            FROM objects.receivers r JOIN objects.acks a ON a.receiver_id = r.id
           WHERE r.kind <> 'queue' AND a.acked_count < r.delivery_seq`,
  },
  {
    says: 'no receiver is full',
    sql: `SELECT receiver_id AS text FROM objects.full_receivers`,
  },
  {
    says: 'the other services were told of everything',
    sql: `SELECT key || ': ' || coalesce(last_error, 'not yet') AS text FROM objects.outbox WHERE acknowledged_at IS NULL`,
  },
]
