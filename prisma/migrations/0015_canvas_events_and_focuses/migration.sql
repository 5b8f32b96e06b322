-- canvas: one stream of the events of all nodes
--
-- Events are read in the order of the transactions that wrote them, up to the oldest one that is still at work: one that
-- commits late is never passed over. What was written before this has no such order and stands at the beginning.
ALTER TABLE canvas.events ADD COLUMN xid xid8 NOT NULL DEFAULT '0';
ALTER TABLE canvas.events ALTER COLUMN xid SET DEFAULT pg_current_xact_id();
CREATE INDEX events_xid_idx ON canvas.events (xid, root_id, tree_seq);

-- Numbers of transactions mean something in the database where they were given out, and in no copy of its rows. The row
-- knows the transaction that wrote it: restored from a dump it was written by another one, and gets another name.
CREATE TABLE canvas.event_line (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  id text NOT NULL,
  made_in xid8 NOT NULL DEFAULT pg_current_xact_id()
);
INSERT INTO canvas.event_line (id) VALUES (left(replace(gen_random_uuid()::text, '-', ''), 12));

-- canvas: which node a person looks at in which pane
CREATE TABLE canvas.focuses (
  pane text PRIMARY KEY,
  node_id text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  viewer text,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX focuses_node_id_idx ON canvas.focuses (node_id);

SELECT canvas.fence_tables();
