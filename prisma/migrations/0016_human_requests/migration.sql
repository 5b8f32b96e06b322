-- canvas: what agents and applications ask a person
CREATE TABLE canvas.human_requests (
  id text PRIMARY KEY,
  -- who is told the answer; null: an application or the owner, who reads it
  node_id text REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  app_id text,
  kind text NOT NULL CONSTRAINT human_requests_kind_check CHECK (kind IN ('deck')),
  title text NOT NULL,
  subtitle text,
  pages json NOT NULL,
  status text NOT NULL
    CONSTRAINT human_requests_status_check CHECK (status IN ('pending', 'answered', 'dismissed', 'canceled', 'expired')),
  deadline timestamptz(3),
  default_response json,
  waiting_cost text,
  dedupe_key text,
  response json,
  reason text,
  asked_by json NOT NULL,
  principal text NOT NULL,
  resolved_by json,
  resolved_at timestamptz(3),
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CONSTRAINT human_requests_resolved_check CHECK ((status = 'pending') = (resolved_at IS NULL)),
  CONSTRAINT human_requests_default_check CHECK (default_response IS NULL OR deadline IS NOT NULL)
) WITH (fillfactor = 80);
CREATE INDEX human_requests_created_at_id_idx ON canvas.human_requests (created_at, id);
CREATE INDEX human_requests_node_id_created_at_id_idx ON canvas.human_requests (node_id, created_at, id);
CREATE INDEX human_requests_resolved_at_idx ON canvas.human_requests (resolved_at) WHERE status <> 'pending';
CREATE INDEX human_requests_open_idx ON canvas.human_requests (created_at, id) WHERE status = 'pending';
CREATE INDEX human_requests_deadline_idx ON canvas.human_requests (deadline) WHERE status = 'pending' AND deadline IS NOT NULL;
-- the same question asked twice is one
CREATE UNIQUE INDEX human_requests_dedupe_key ON canvas.human_requests (principal, dedupe_key)
  WHERE status = 'pending' AND dedupe_key IS NOT NULL;

ALTER TABLE canvas.mail
  DROP CONSTRAINT mail_kind_check,
  ADD CONSTRAINT mail_kind_check CHECK (kind IN ('prompt', 'kickoff', 'message', 'report', 'notice', 'answer'));

-- canvas: what messages and reports carry besides their text. A content is kept once, by its hash.
CREATE TABLE canvas.blobs (
  hash text PRIMARY KEY,
  size integer NOT NULL,
  content bytea NOT NULL,
  -- raised by each new use, so that none is taken for forgotten while it is being used
  used_at timestamptz(3) NOT NULL
);
-- images and archives do not get smaller
ALTER TABLE canvas.blobs ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX blobs_used_at_idx ON canvas.blobs (used_at);

CREATE TABLE canvas.attachments (
  id text PRIMARY KEY,
  node_id text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  hash text NOT NULL REFERENCES canvas.blobs (hash),
  name text NOT NULL,
  content_type text NOT NULL,
  bytes integer NOT NULL,
  created_at timestamptz(3) NOT NULL
);
CREATE INDEX attachments_node_id_idx ON canvas.attachments (node_id);
CREATE INDEX attachments_hash_idx ON canvas.attachments (hash);

SELECT canvas.fence_tables();
