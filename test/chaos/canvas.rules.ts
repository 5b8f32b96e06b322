/** What must hold for the whole database once everything is at rest: each row that a statement answers says what doesn't. */
export interface Rule {
  readonly says: string
  /** Answers `text`. */
  readonly sql: string
}

/** Where mail was taken into a journal: in the entry that began a turn, and in the parts of what the model was given. */
const taken = `
  begun AS (
    SELECT j.node_id, j.turn, m.id FROM canvas.journal j JOIN canvas.nodes n ON n.id = j.node_id,
           json_array_elements_text(coalesce(j.payload -> 'mail', '[]')) AS m (id)
     WHERE j.type = 'turn_started' AND j.ord > n.copied_ord),
  shown AS (
    SELECT j.node_id, j.turn, p.part #>> '{provider_metadata,svc,mail}' AS id
      FROM canvas.journal j JOIN canvas.nodes n ON n.id = j.node_id,
           json_array_elements(CASE json_typeof(j.payload -> 'content') WHEN 'array' THEN j.payload -> 'content' ELSE '[]' END) AS p (part)
     WHERE j.type = 'message' AND j.ord > n.copied_ord AND p.part #>> '{provider_metadata,svc,mail}' IS NOT NULL),
  taken AS (SELECT * FROM begun UNION SELECT * FROM shown)`

/** A root and those whose place it took: what was for them is for it. */
const line = `
  line AS (
    SELECT id, id AS was FROM canvas.nodes
    UNION ALL SELECT l.id, n.succeeds FROM line l JOIN canvas.nodes n ON n.id = l.was
     WHERE n.succession = 'taken_over')`

/** What is canceled where another root takes over had nobody but the old one, which ends as well. */
const ends = `e.type IN ('node.done', 'node.dead', 'node.canceled')`

const orderRules: readonly Rule[] = [
  {
    says: 'the events of a node are gap-free',
    sql: `SELECT c.node_id || ' has ' || count(e.seq) || ' events up to ' || coalesce(max(e.seq), 0) || ' of ' || c.event_seq AS text
            FROM canvas.counters c LEFT JOIN canvas.events e ON e.node_id = c.node_id
           GROUP BY c.node_id, c.event_seq
          HAVING count(DISTINCT e.seq) <> c.event_seq OR coalesce(max(e.seq), 0) <> c.event_seq`,
  },
  {
    says: 'the events of a tree are gap-free',
    sql: `SELECT t.root_id || ' has ' || count(e.seq) || ' events up to ' || coalesce(max(e.tree_seq), 0) || ' of ' || t.event_seq AS text
            FROM canvas.trees t LEFT JOIN canvas.events e ON e.root_id = t.root_id
           GROUP BY t.root_id, t.event_seq
          HAVING count(DISTINCT e.tree_seq) <> t.event_seq OR coalesce(max(e.tree_seq), 0) <> t.event_seq`,
  },
  {
    says: 'the journal of a node is gap-free',
    sql: `SELECT c.node_id || ' has ' || count(j.ord) || ' entries of ' || c.journal_ord AS text
            FROM canvas.counters c LEFT JOIN canvas.journal j ON j.node_id = c.node_id
           GROUP BY c.node_id, c.journal_ord
          HAVING count(j.ord) <> c.journal_ord OR coalesce(max(j.ord), 0) <> c.journal_ord`,
  },
  {
    says: 'a journal is written by one generation after the other',
    sql: `SELECT node_id || ' at ' || ord AS text FROM (
            SELECT j.node_id, ord, j.generation, lag(j.generation) OVER (PARTITION BY j.node_id ORDER BY ord) AS before
              FROM canvas.journal j JOIN canvas.nodes n ON n.id = j.node_id WHERE ord > n.copied_ord) w
           WHERE generation < before`,
  },
  {
    says: 'a generation is bound by one process',
    sql: `SELECT node_id || ' generation ' || (data ->> 'generation') AS text FROM canvas.events
           WHERE type = 'node.bound' GROUP BY node_id, data ->> 'generation' HAVING count(DISTINCT data ->> 'pid') > 1`,
  },
]

const onceRules: readonly Rule[] = [
  {
    says: 'mail is taken into one turn, once',
    sql: `WITH ${taken} SELECT id || ' of ' || min(node_id) || ' in turns ' || string_agg(turn::text, ',') AS text
            FROM taken GROUP BY id HAVING count(*) > 1
          UNION ALL SELECT id || ' shown ' || count(*) || ' times' FROM shown GROUP BY id HAVING count(*) > 1`,
  },
  {
    says: 'mail that was read is in a journal',
    sql: `WITH ${taken} SELECT m.id || ' of ' || m.node_id || ', ' || m.kind || ': ' || left(m.body, 80) AS text
            FROM canvas.mail m WHERE m.acknowledged_at IS NOT NULL AND m.id <> 'msg_' || right(m.node_id, 26)
             AND (m.kind <> 'kickoff' OR m.turn IS NOT NULL)
             AND NOT EXISTS (SELECT 1 FROM taken t WHERE t.id = m.id)`,
  },
  {
    says: 'what was accepted is one piece of mail',
    sql: `SELECT e.node_id || ' ' || (e.data ->> 'message_id') || ': ' || count(m.id) AS text
            FROM canvas.events e LEFT JOIN canvas.mail m ON m.id = e.data ->> 'message_id'
           WHERE e.type = 'message.accepted' GROUP BY e.node_id, e.seq, e.data ->> 'message_id' HAVING count(m.id) <> 1`,
  },
  {
    says: 'a piece of work has one final report',
    sql: `SELECT node_id || ' engagement ' || engagement AS text FROM canvas.reports
           WHERE kind = 'final' GROUP BY node_id, engagement HAVING count(*) > 1`,
  },
  {
    says: 'who is done has said its last word',
    sql: `SELECT n.id || ' engagement ' || n.engagement AS text FROM canvas.nodes n WHERE n.status = 'done'
             AND NOT EXISTS (SELECT 1 FROM canvas.reports r
                              WHERE r.node_id = n.id AND r.engagement = n.engagement AND r.kind = 'final')`,
  },
  {
    says: 'one engagement a revival',
    sql: `SELECT n.id || ' is in engagement ' || n.engagement || ' after ' || count(t.node_id) || ' revivals' AS text
            FROM canvas.nodes n LEFT JOIN canvas.transitions t ON t.node_id = n.id AND t.event = 'revive'
             AND t.from_status IN ('done', 'dead', 'canceled')
           GROUP BY n.id HAVING n.engagement <> 1 + count(t.node_id)`,
  },
  {
    says: 'one context each time that one was begun',
    sql: `SELECT n.id || ' is in context ' || n.context || ' after ' || count(e.seq) || ' beginnings' AS text
            FROM canvas.nodes n LEFT JOIN canvas.events e ON e.node_id = n.id AND e.type = 'node.refreshed'
           GROUP BY n.id HAVING n.context <> 1 + count(e.seq)`,
  },
  {
    says: 'one node a creation, a spawn or a fork',
    sql: `SELECT name || ' is ' || count(*) || ' nodes' AS text FROM canvas.nodes WHERE succeeds IS NULL
           GROUP BY name HAVING count(*) > 1`,
  },
  {
    says: 'one successor a root',
    sql: `SELECT succeeds || ' is followed by ' || count(*) AS text FROM canvas.nodes
           WHERE succession IN ('taken_over', 'booting') GROUP BY succeeds HAVING count(*) > 1`,
  },
  {
    says: 'a question is resolved once, and its answer is one piece of mail',
    sql: `SELECT q.id || ' is ' || q.status || ' with ' || count(m.id) || ' answers' AS text
            FROM canvas.human_requests q LEFT JOIN canvas.mail m ON m.kind = 'answer' AND m.body LIKE '%(' || q.id || ')%'
           GROUP BY q.id, q.status HAVING count(m.id) <> CASE q.status WHEN 'answered' THEN 1 ELSE count(m.id) END
          UNION ALL SELECT (data ->> 'request_id') || ' is resolved ' || count(*) || ' times' FROM canvas.events
           WHERE type = 'question.resolved' GROUP BY data ->> 'request_id' HAVING count(*) > 1`,
  },
  {
    says: 'a call is begun and ended once',
    sql: `SELECT j.node_id || ' ' || j.type || ' ' || j.turn || '.' || (j.payload ->> 'call_id') AS text
            FROM canvas.journal j JOIN canvas.nodes n ON n.id = j.node_id
           WHERE j.type IN ('tool_started', 'tool_ended') AND j.ord > n.copied_ord
           GROUP BY j.node_id, j.type, j.turn, j.payload ->> 'call_id' HAVING count(*) > 1`,
  },
  {
    says: 'a step is answered and bought once',
    sql: `SELECT j.node_id || ' ' || j.turn || '.' || j.step AS text
            FROM canvas.journal j JOIN canvas.nodes n ON n.id = j.node_id
           WHERE j.type = 'message' AND j.payload ->> 'role' = 'assistant' AND j.ord > n.copied_ord
           GROUP BY j.node_id, j.turn, j.step HAVING count(*) > 1
          UNION ALL SELECT node_id || ' bought ' || turn || '.' || step FROM models.calls
           WHERE status = 'completed' GROUP BY node_id, turn, step HAVING count(*) > 1`,
  },
]

const toldRules: readonly Rule[] = [
  {
    says: 'every answer that was bought is on the account of its node once',
    sql: `SELECT c.node_id || ' ' || count(*) || ' calls, ' || e.told || ' told' AS text FROM models.calls c,
                 LATERAL (SELECT count(*) AS told FROM canvas.events WHERE node_id = c.node_id AND type = 'node.usage') e
           WHERE c.status = 'completed' GROUP BY c.node_id, e.told HAVING count(*) <> e.told`,
  },
  {
    says: 'every end is told to each of its watchers, at once and once',
    sql: `WITH RECURSIVE ${line} SELECT e.node_id || ' ' || e.type || ' to ' || s.subscriber || ': ' || count(c.seq) AS text
            FROM canvas.events e JOIN canvas.subscriptions s ON s.publisher = e.node_id
             AND s.created_at < e.time - interval '1 s'
            JOIN canvas.nodes w ON w.id = s.subscriber AND w.status <> 'canceled'
            LEFT JOIN canvas.events c ON c.xid = e.xid AND c.data ->> 'node_id' = e.node_id
             AND (c.type = 'child.ended' OR c.type = 'child.reported' AND c.data ->> 'kind' = 'final')
             AND c.node_id IN (SELECT was FROM line WHERE id = s.subscriber)
           WHERE ${ends} AND NOT (e.type = 'node.canceled' AND EXISTS (
                   SELECT 1 FROM canvas.events o WHERE o.xid = e.xid AND o.type = 'node.relaunched'))
           GROUP BY e.node_id, e.seq, e.type, s.subscriber HAVING count(c.seq) <> 1`,
  },
  {
    says: 'every report is told to each watcher once',
    sql: `WITH RECURSIVE ${line} SELECT r.id || ' of ' || r.node_id || ' to ' || s.subscriber || ': ' || count(c.seq) AS text
            FROM canvas.reports r JOIN canvas.subscriptions s ON s.publisher = r.node_id
             AND s.created_at < r.created_at - interval '1 s'
            JOIN canvas.nodes w ON w.id = s.subscriber AND w.status <> 'canceled'
            LEFT JOIN canvas.events c ON c.type = 'child.reported' AND c.data ->> 'report_id' = r.id
             AND c.node_id IN (SELECT was FROM line WHERE id = s.subscriber)
           GROUP BY r.id, r.node_id, s.subscriber HAVING count(c.seq) <> 1`,
  },
  {
    says: 'what is told is mail',
    sql: `SELECT c.node_id || ' was told ' || c.type || ' of ' || (c.data ->> 'node_id') AS text FROM canvas.events c
           WHERE c.type IN ('child.ended', 'child.reported')
             AND NOT EXISTS (SELECT 1 FROM canvas.events m WHERE m.xid = c.xid AND m.node_id = c.node_id
                                AND m.type = 'message.accepted' AND m.data #>> '{source,id}' = c.data ->> 'node_id')`,
  },
]

/** What is no state to rest in: waited for first, a violation when it lasts. */
export const restRules: readonly Rule[] = [
  {
    says: 'nobody is at work any more',
    sql: `SELECT id || ' (' || name || ') ' || coalesce(broker_state, 'without a process') || coalesce(', ' || (fault ->> 'message'), '') AS text
            FROM canvas.nodes WHERE status = 'active'`,
  },
  {
    says: 'nobody rests with mail that wakes',
    sql: `SELECT n.id || ' (' || n.name || ') ' || coalesce(n.intent, '') || ': ' || left(m.body, 80) AS text
            FROM canvas.nodes n JOIN canvas.mail m ON m.node_id = n.id
           WHERE n.status = 'idle' AND m.acknowledged_at IS NULL AND m.tier <> 'deferred' AND m.kind <> 'kickoff'`,
  },
  { says: 'no succession is left booting', sql: `SELECT id AS text FROM canvas.nodes WHERE succession = 'booting'` },
  {
    says: 'nobody waits past its time',
    sql: `SELECT id || ' since ' || wait_until AS text FROM canvas.nodes WHERE status = 'idle' AND wait_until < now()`,
  },
  {
    says: 'no call, job or answer of a model is left open',
    sql: `SELECT node_id || ' tool ' || call_id AS text FROM canvas.tool_calls WHERE status = 'started'
          UNION ALL SELECT node_id || ' job ' || id FROM canvas.jobs WHERE status = 'running'
          UNION ALL SELECT node_id || ' model ' || turn || '.' || step FROM models.calls WHERE status IN ('started', 'running')`,
  },
  {
    says: 'what one service has to tell another is told',
    sql: `SELECT 'canvas ' || key AS text FROM canvas.outbox WHERE acknowledged_at IS NULL
          UNION ALL SELECT 'models ' || key FROM models.outbox WHERE acknowledged_at IS NULL`,
  },
  {
    says: 'no question of a canceled node is open',
    sql: `SELECT q.id AS text FROM canvas.human_requests q JOIN canvas.nodes n ON n.id = q.node_id
           WHERE q.status = 'pending' AND n.status = 'canceled'`,
  },
]

export const canvasRules: readonly Rule[] = [...restRules, ...orderRules, ...onceRules, ...toldRules]
