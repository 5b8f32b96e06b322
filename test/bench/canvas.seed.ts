import type { AdminConnection } from '#common/testing/admin-connection.js'

export interface CanvasSize {
  readonly nodes: number
  /** Each leaves a journal entry and a passage. */
  readonly turns: number
}

/** Words of very different frequency, as in any language; text in which they stand as such. */
const texts = `
  CREATE TEMP TABLE seed_words AS
    SELECT i AS n, translate(substr(md5(i::text), 1, 3 + i % 6), '0123456789', 'ghijklmnop') AS word
      FROM generate_series(0, 19999) AS i;
  ALTER TABLE seed_words ADD PRIMARY KEY (n);
  CREATE TEMP TABLE seed_bodies AS
    SELECT drawn.body AS n, string_agg(word, ' ') AS body FROM (
      SELECT body, floor(20000 * pow(random(), 4))::int AS n FROM generate_series(0, 3999) AS body, generate_series(1, 25)
    ) AS drawn JOIN seed_words USING (n) GROUP BY drawn.body;
  ALTER TABLE seed_bodies ADD COLUMN words tsvector;
  UPDATE seed_bodies SET words = setweight(to_tsvector('english', body), 'B');
  ALTER TABLE seed_bodies ADD PRIMARY KEY (n);
  ANALYZE seed_bodies;`

const id = (number: string): string => `'node_01' || lpad((${number})::text, 24, '0')`

/** Trees of a hundred nodes in three layers. Most have ended, roots rest, a few are faults; none is at work. */
const nodes = (count: number): string => `
  INSERT INTO canvas.nodes (id, name, kind, mode, lifecycle, status, parent_id, root_id, depth, engine, cwd, model, scopes,
      scopes_explicit, principal, generation, turn, fault, cost_usd, created_at, updated_at)
    SELECT ${id('i')}, 'node ' || i, (ARRAY['general', 'explore', 'plan', 'develop', 'review'])[1 + i % 5], 'base',
           CASE WHEN k = 0 THEN 'resident' ELSE 'terminal' END,
           CASE WHEN k = 0 THEN 'idle' WHEN i % 997 = 0 THEN 'dead' ELSE 'done' END,
           CASE WHEN k > 0 THEN ${id('i - k + (k - 1) / 10')} END, ${id('i - k')},
           CASE WHEN k = 0 THEN 0 WHEN k <= 10 THEN 1 ELSE 2 END, 'loop', '/tmp', '{"strength":"medium"}', '{svc:llm}', false,
           'owner', 1, 10,
           CASE WHEN i % 997 = 0 AND k > 0 THEN '{"kind":"other","message":"gone","since":"2026-01-01T00:00:00.000Z"}'::json END,
           random(), at, at + interval '1 minute'
      FROM (SELECT i, (i - 1) % 100 AS k, now() - (${count} - i) * interval '30 seconds' AS at
              FROM generate_series(1, ${count}) AS i) AS drawn;
  INSERT INTO canvas.trees (root_id) SELECT id FROM canvas.nodes WHERE parent_id IS NULL ON CONFLICT DO NOTHING;
  INSERT INTO canvas.subscriptions (subscriber, publisher, mode)
    SELECT parent_id, id, 'active' FROM canvas.nodes WHERE parent_id IS NOT NULL;`

const turns = ({ nodes: count, turns: total }: CanvasSize): string => {
  const each = Math.floor(total / count)
  return `
  INSERT INTO canvas.counters (node_id, root_id, journal_ord) SELECT id, root_id, ${each} FROM canvas.nodes
    ON CONFLICT (node_id) DO UPDATE SET journal_ord = ${each};
  INSERT INTO canvas.history_heads (node_id, version, journal_ord, mail_seq, report_ord, event_seq, counted_ord)
    SELECT id, 1, ${each}, 0, 0, 0, ${each} FROM canvas.nodes;
  INSERT INTO canvas.journal (node_id, ord, generation, engagement, turn, type, payload, created_at)
    SELECT id, t, 1, 1, t, 'turn_ended', json_build_object('type', 'turn_ended', 'turn', t, 'status', 'completed'),
           created_at + t * interval '1 second'
      FROM canvas.nodes, generate_series(1, ${each}) AS t;
  INSERT INTO canvas.passages (id, node_id, kind, ref, piece, line, turn, at, body, words)
    SELECT p, node_id, kind, turn, 0, 1, turn, now(), seed_bodies.body, seed_bodies.words || array_to_tsvector(ARRAY[
             canvas.mark('n', node_id), canvas.mark('r', root_id), canvas.mark('k', kind),
             canvas.mark('12:', (p >> 12)::text), canvas.mark('15:', (p >> 15)::text),
             canvas.mark('18:', (p >> 18)::text), canvas.mark('21:', (p >> 21)::text)])
      FROM (SELECT p, ${id(`1 + (p - 1) / ${each}`)} AS node_id, ${id(`1 + ((p - 1) / ${each}) / 100 * 100`)} AS root_id,
                   1 + (p - 1) % ${each} AS turn, (ARRAY['user', 'assistant', 'tool', 'report'])[1 + p % 4] AS kind,
                   floor(4000 * random())::int AS n FROM generate_series(1, ${count * each}) AS p OFFSET 0) AS drawn
      JOIN seed_bodies USING (n);
  SELECT setval('canvas.passages_id_seq', ${count * each});
  INSERT INTO canvas.activity (node_id, day, model, root_id, kind, turns, calls, input_tokens, output_tokens, cost_usd)
    SELECT id, created_at::date, 'mock/m-1', root_id, kind, ${each}, ${each}, 1000, 100, cost_usd FROM canvas.nodes;`
}

/** Fills an empty canvas past its writer. The indexes of the texts are made afterwards, which takes a part of the time. */
export const seedCanvas = async (database: AdminConnection, size: CanvasSize): Promise<void> => {
  const indexes = await database.rows<{ name: string; text: string }>(
    "SELECT indexname AS name, indexdef AS text FROM pg_indexes WHERE tablename = 'passages' AND indexdef LIKE '%USING gin%'",
  )
  // neither fence nor keys: nobody else writes here
  await database.run(
    "SET session_replication_role = replica; SET maintenance_work_mem = '512MB'; SET work_mem = '64MB'",
  )
  for (const { name } of indexes) await database.run(`DROP INDEX canvas.${name}`)
  await database.run(texts)
  await database.run(nodes(size.nodes))
  await database.run(turns(size))
  for (const { text } of indexes) await database.run(text)
  await database.run(
    'ANALYZE canvas.nodes, canvas.counters, canvas.journal, canvas.passages, canvas.subscriptions, canvas.activity',
  )
  await database.run('RESET session_replication_role; RESET maintenance_work_mem; RESET work_mem')
}
