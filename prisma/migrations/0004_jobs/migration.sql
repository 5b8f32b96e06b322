-- canvas: background jobs of nodes. The process and its output are the host's.
CREATE TABLE canvas.jobs (
  id text PRIMARY KEY,
  node_id text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  command text NOT NULL,
  cwd text NOT NULL,
  status text NOT NULL CONSTRAINT jobs_status_check CHECK (status IN ('running', 'exited', 'killed', 'lost')),
  exit_code integer,
  signal text,
  started_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3),
  output_bytes bigint NOT NULL DEFAULT 0,
  truncated boolean NOT NULL DEFAULT false,
  error text,
  host_id text NOT NULL,
  -- the start of the host that may run it; under another one it can only be lost
  host_incarnation text NOT NULL,
  cancel_requested_at timestamptz(3),
  canceled_by text,
  CONSTRAINT jobs_ended_check CHECK ((status = 'running') = (ended_at IS NULL))
) WITH (fillfactor = 80);
CREATE INDEX jobs_node_id_started_at_id_idx ON canvas.jobs (node_id, started_at, id);
CREATE INDEX jobs_running_idx ON canvas.jobs (node_id) WHERE status = 'running';

SELECT canvas.fence_tables();
