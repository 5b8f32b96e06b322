-- canvas: work that others have it begin, once for each key; and what of theirs needs a person

CREATE TABLE canvas.works (
  key text PRIMARY KEY,
  node_id text NOT NULL,
  -- of the node, and its version, when the work was given to it: what became of it stands behind that
  engagement integer NOT NULL,
  node_version integer NOT NULL,
  message_id text NOT NULL,
  accepted_at timestamptz(3) NOT NULL
);
CREATE INDEX works_accepted_at_idx ON canvas.works (accepted_at, key);

-- In which turn a mail was worked at, and how that turn ended.
CREATE INDEX journal_turns_idx ON canvas.journal (node_id, turn, ord) WHERE type IN ('turn_started', 'turn_ended');

CREATE TABLE canvas.concerns (
  ref text PRIMARY KEY,
  version bigint NOT NULL,
  open boolean NOT NULL,
  node_id text,
  app_id text,
  profile text,
  name text,
  since timestamptz(3),
  message text,
  remedy text,
  updated_at timestamptz(3) NOT NULL
);
CREATE INDEX concerns_open_idx ON canvas.concerns (since DESC, ref DESC) WHERE open;
CREATE INDEX concerns_node_id_idx ON canvas.concerns (node_id) WHERE open AND node_id IS NOT NULL;
CREATE INDEX concerns_updated_at_idx ON canvas.concerns (updated_at);

-- the ledger: what did not happen as planned, the newest first
CREATE INDEX faults_ledger_idx ON canvas.faults ((coalesce(ended_at, since)) DESC, ord DESC);
CREATE INDEX nodes_succession_failed_idx ON canvas.nodes (id) WHERE succession = 'failed';
CREATE INDEX jobs_lost_idx ON canvas.jobs (ended_at DESC, id COLLATE "C" DESC) WHERE status = 'lost';
CREATE INDEX human_requests_expired_idx ON canvas.human_requests (resolved_at DESC, id COLLATE "C" DESC)
  WHERE status = 'expired';
CREATE INDEX mail_answers_unread_idx ON canvas.mail (created_at DESC, id COLLATE "C" DESC)
  WHERE kind = 'answer' AND acknowledged_at IS NULL;

SELECT canvas.fence_tables();
