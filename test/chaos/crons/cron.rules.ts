import type { Rule } from '../canvas.rules.js'
import { keyOf } from './cron.lines.js'

/** What must hold of all schedules at any time. */
export const cronRules: readonly Rule[] = [
  {
    says: 'a slot has one line',
    sql: `SELECT f.name || ' ' || f.cron_id || ' at ' || f.slot || ' and at ' || g.slot AS text
            FROM scheduler.fires f JOIN scheduler.fires g ON g.cron_id = f.cron_id AND g.slot > f.slot
           WHERE f.trigger = 'schedule' AND g.trigger = 'schedule' AND g.slot <= f.last_slot`,
  },
  {
    says: 'a line says how many slots it stands for',
    sql: `SELECT name || ' at ' || slot || ': ' || slots || ' up to ' || last_slot AS text FROM scheduler.fires
           WHERE (slots = 1) <> (slot = last_slot) OR last_slot < slot`,
  },
  {
    says: 'what was left out, failed or was not seen is in the ledger',
    sql: `SELECT name || ' at ' || slot || ' is ' || status || ' by ' || coalesce(cause, 'nothing') AS text FROM scheduler.fires
           WHERE status IN ('skipped', 'missed', 'coalesced', 'failed', 'unknown') AND (ledger IS NULL OR cause IS NULL)`,
  },
  {
    says: 'what was begun has a line that says so',
    sql: `SELECT w.key || ' is ' || coalesce(f.status, 'without a line') AS text
            FROM canvas.works w LEFT JOIN scheduler.fires f ON ${keyOf('f')} = w.key
           WHERE f.cron_id IS NULL OR f.status IN ('queued', 'skipped', 'missed', 'coalesced')`,
  },
  {
    says: 'a line names the work that was begun for it',
    sql: `SELECT w.key || ': ' || f.status || ' of ' || coalesce(f.node_id, 'no node') || ', ' || coalesce(f.message_id, 'no message')
                 || ' instead of ' || w.node_id || ', ' || w.message_id AS text
            FROM canvas.works w JOIN scheduler.fires f ON ${keyOf('f')} = w.key
           WHERE f.status IN ('running', 'succeeded', 'failed', 'unknown') AND
                 (f.node_id IS DISTINCT FROM w.node_id OR f.message_id <> w.message_id)`,
  },
  {
    says: 'what was begun is one piece of mail of its node',
    sql: `SELECT w.key || ' as ' || w.message_id AS text FROM canvas.works w
           WHERE NOT EXISTS (SELECT 1 FROM canvas.mail m WHERE m.id = w.message_id AND m.node_id = w.node_id)`,
  },
  {
    says: 'a firing has a moment at which it was fired, and no other slot has',
    sql: `SELECT name || ' at ' || slot || ' is ' || status || ', fired at ' || coalesce(fired_at::text, 'no time') AS text
            FROM scheduler.fires
           WHERE (status IN ('running', 'succeeded') AND fired_at IS NULL)
              OR (status IN ('queued', 'skipped', 'missed', 'coalesced') AND fired_at IS NOT NULL)`,
  },
  {
    says: 'a firing ends once it is over',
    sql: `SELECT name || ' at ' || slot || ' is ' || status || ', ended at ' || coalesce(ended_at::text, 'no time') AS text
            FROM scheduler.fires WHERE (status IN ('succeeded', 'failed', 'canceled', 'unknown')) <> (ended_at IS NOT NULL)
             AND status NOT IN ('skipped', 'missed', 'coalesced')`,
  },
]

/** What must hold as soon as nothing is due any more. */
export const cronRestRules: readonly Rule[] = [
  {
    says: 'no firing is under way',
    sql: `SELECT name || ' at ' || slot || ' is ' || status || ', attempt ' || attempts AS text FROM scheduler.fires
           WHERE status IN ('queued', 'starting', 'running')`,
  },
  {
    says: 'nothing is due',
    sql: `SELECT name || ' is due at ' || next_due AS text FROM scheduler.crons
           WHERE status = 'active' AND next_due < now() - interval '3 seconds'`,
  },
  {
    says: 'lifecycle was told of everything',
    sql: `SELECT key || ': ' || coalesce(last_error, 'not yet') AS text FROM scheduler.outbox WHERE acknowledged_at IS NULL`,
  },
]
