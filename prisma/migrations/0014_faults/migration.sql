-- canvas: the model that answered a node last, and the faults that it has had
ALTER TABLE canvas.nodes ADD COLUMN answered_by text;

-- one row an episode: from the first failure of a kind until the node was answered, brought back, or failed otherwise
CREATE TABLE canvas.faults (
  ord bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  node_id text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  engagement integer NOT NULL,
  turn integer NOT NULL,
  kind text NOT NULL,
  message text NOT NULL,
  tries integer NOT NULL,
  since timestamptz(3) NOT NULL,
  last_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3)
);
CREATE INDEX faults_node_id_ord_idx ON canvas.faults (node_id, ord);
CREATE UNIQUE INDEX faults_open_key ON canvas.faults (node_id) WHERE ended_at IS NULL;

SELECT canvas.fence_tables();
