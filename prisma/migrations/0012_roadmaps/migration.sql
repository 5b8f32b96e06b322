-- canvas: the roadmap of an orchestrator. Each version is a row; the newest is the one that holds.
CREATE TABLE canvas.roadmaps (
  node_id text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  version integer NOT NULL CONSTRAINT roadmaps_version_check CHECK (version > 0),
  text text NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  updated_by text NOT NULL,
  PRIMARY KEY (node_id, version)
);

SELECT canvas.fence_tables();
