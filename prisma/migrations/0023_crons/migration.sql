-- scheduler: schedules, what became of their slots, and what it tells lifecycle

CREATE SCHEMA scheduler;

-- Names the timers of this database in Redis, which may serve several.
CREATE TABLE scheduler.installation (
  id integer PRIMARY KEY CONSTRAINT installation_one_row_check CHECK (id = 1),
  name text NOT NULL
);
INSERT INTO scheduler.installation (id, name) VALUES (1, substr(md5(random()::text || clock_timestamp()::text), 1, 16));

CREATE TABLE scheduler.crons (
  id text PRIMARY KEY,
  name text NOT NULL,
  owner_node_id text,
  -- the node that it belongs to and all above it: those who reach it
  owner_path text[] NOT NULL,
  app_id text,
  profile text,
  -- whom it acts for, and never with more than the token held that armed it
  authority json NOT NULL,
  created_by json NOT NULL,
  schedule json NOT NULL,
  action json NOT NULL,
  -- the node that a message goes to
  target_node_id text,
  missed text NOT NULL CONSTRAINT crons_missed_check CHECK (missed IN ('skip', 'once', 'all')),
  catchup_window_s integer NOT NULL,
  overlap text NOT NULL CONSTRAINT crons_overlap_check CHECK (overlap IN ('allow', 'skip', 'queue')),
  jitter_s integer NOT NULL,
  start_at timestamptz(3),
  end_at timestamptz(3),
  max_failures integer NOT NULL,
  delete_after_run boolean NOT NULL,
  status text NOT NULL CONSTRAINT crons_status_check CHECK (status IN ('active', 'paused', 'completed', 'failed')),
  pause_reason text CONSTRAINT crons_pause_reason_check CHECK (pause_reason IN ('asked', 'failures')),
  consecutive_failures integer NOT NULL,
  -- where slots at a fixed distance are counted from
  anchor_at timestamptz(3) NOT NULL,
  -- the first slot that nothing was decided about yet, of a paused one too; null when there is none any more
  next_slot timestamptz(3),
  -- the slot and its jitter
  next_due timestamptz(3),
  version integer NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CONSTRAINT crons_next_check CHECK ((next_slot IS NULL) = (next_due IS NULL)),
  CONSTRAINT crons_paused_check CHECK ((status = 'paused') = (pause_reason IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX crons_next_due_idx ON scheduler.crons (next_due, id) WHERE next_due IS NOT NULL;
CREATE INDEX crons_created_at_idx ON scheduler.crons (created_at DESC, id DESC);
CREATE INDEX crons_status_created_at_idx ON scheduler.crons (status, created_at DESC, id DESC);
CREATE INDEX crons_owner_node_id_idx ON scheduler.crons (owner_node_id, created_at DESC, id DESC) WHERE owner_node_id IS NOT NULL;
CREATE INDEX crons_owner_path_idx ON scheduler.crons USING gin (owner_path);
CREATE INDEX crons_target_node_id_idx ON scheduler.crons (target_node_id) WHERE target_node_id IS NOT NULL;
CREATE INDEX crons_parent_id_idx ON scheduler.crons ((action ->> 'parent_id')) WHERE action ->> 'parent_id' IS NOT NULL;
CREATE INDEX crons_app_id_idx ON scheduler.crons (app_id, created_at DESC, id DESC) WHERE app_id IS NOT NULL;
CREATE INDEX crons_armed_of_node_idx ON scheduler.crons (owner_node_id) WHERE status IN ('active', 'paused');
CREATE INDEX crons_armed_of_app_idx ON scheduler.crons (app_id) WHERE status IN ('active', 'paused');
CREATE INDEX crons_ended_of_node_idx ON scheduler.crons (owner_node_id, updated_at DESC, id DESC) WHERE status IN ('completed', 'failed');
CREATE INDEX crons_ended_of_app_idx ON scheduler.crons (app_id, updated_at DESC, id DESC) WHERE status IN ('completed', 'failed');

-- Whoever has schedules or is aimed at by one, as a principal. Locked while one is added: so that limits hold, and none is
-- added to a node that ended meanwhile.
CREATE TABLE scheduler.holders (
  id text PRIMARY KEY,
  ended_at timestamptz(3),
  -- of a root: which node took its place last, and when
  successor text,
  succeeded_at timestamptz(3),
  CONSTRAINT holders_successor_check CHECK ((successor IS NULL) = (succeeded_at IS NULL))
);
CREATE INDEX holders_ended_at_idx ON scheduler.holders (ended_at) WHERE ended_at IS NOT NULL;

-- One line a slot, or a run of slots in a row that shared one fate. Outlives its cron.
CREATE TABLE scheduler.fires (
  cron_id text NOT NULL,
  slot timestamptz(3) NOT NULL,
  trigger text NOT NULL CONSTRAINT fires_trigger_check CHECK (trigger IN ('schedule', 'manual')),
  status text NOT NULL CONSTRAINT fires_status_check CHECK (status IN
    ('queued', 'starting', 'running', 'succeeded', 'failed', 'canceled', 'unknown', 'skipped', 'missed', 'coalesced')),
  cause text,
  slots integer NOT NULL CONSTRAINT fires_slots_check CHECK (slots > 0),
  last_slot timestamptz(3) NOT NULL,
  due_at timestamptz(3) NOT NULL,
  fired_at timestamptz(3),
  ended_at timestamptz(3),
  node_id text,
  message_id text,
  error json,
  exit_code integer,
  output text,
  -- tries to start it so far, and until when one holds it or when the next is made
  attempts integer NOT NULL DEFAULT 0,
  held_until timestamptz(3),
  -- what it is in the ledger, if anything, and since when
  ledger text CONSTRAINT fires_ledger_check CHECK (ledger IN ('waiting', 'late', 'failed', 'unknown', 'omitted')),
  noted_at timestamptz(3) NOT NULL,
  -- of its cron, for readers of the ledger
  name text NOT NULL,
  owner_node_id text,
  owner_path text[] NOT NULL,
  app_id text,
  profile text,
  PRIMARY KEY (cron_id, slot)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX fires_open_idx ON scheduler.fires (cron_id, slot) WHERE status IN ('queued', 'starting', 'running');
CREATE INDEX fires_held_until_idx ON scheduler.fires (held_until) WHERE held_until IS NOT NULL;
CREATE INDEX fires_running_idx ON scheduler.fires (fired_at) WHERE status = 'running';
CREATE INDEX fires_ledger_idx ON scheduler.fires (noted_at DESC, cron_id DESC, slot DESC) WHERE ledger IS NOT NULL;
CREATE INDEX fires_ledger_owner_path_idx ON scheduler.fires USING gin (owner_path) WHERE ledger IS NOT NULL;
CREATE INDEX fires_noted_at_idx ON scheduler.fires (noted_at);

CREATE TABLE scheduler.idempotency (
  principal text NOT NULL,
  key text NOT NULL,
  operation text NOT NULL,
  body_hash bytea NOT NULL,
  response json,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (principal, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX idempotency_expires_at_idx ON scheduler.idempotency (expires_at);

CREATE TABLE scheduler.outbox (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  key text NOT NULL CONSTRAINT outbox_key_key UNIQUE,
  target text NOT NULL,
  type text NOT NULL,
  payload json NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3) NOT NULL DEFAULT now(),
  acknowledged_at timestamptz(3),
  last_error text
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX outbox_open_idx ON scheduler.outbox (next_attempt_at, id) WHERE acknowledged_at IS NULL;
CREATE INDEX outbox_acknowledged_at_idx ON scheduler.outbox (acknowledged_at) WHERE acknowledged_at IS NOT NULL;

CREATE TABLE scheduler.inbox (
  source text NOT NULL,
  source_event text NOT NULL,
  received_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (source, source_event)
);
CREATE INDEX inbox_received_at_idx ON scheduler.inbox (received_at);

CREATE TABLE scheduler.retention (
  class text PRIMARY KEY,
  last_run_at timestamptz(3) NOT NULL,
  removed bigint NOT NULL,
  removed_total bigint NOT NULL
);
