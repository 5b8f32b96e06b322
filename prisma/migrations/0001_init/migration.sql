-- One schema a service. The only writer of a schema is its service.
CREATE SCHEMA canvas;
CREATE SCHEMA gateway;
CREATE SCHEMA models;

------------------------------------------------------------------------------------------------------------------------
-- canvas: lease and fence
------------------------------------------------------------------------------------------------------------------------

CREATE TABLE canvas.leases (
  name text PRIMARY KEY,
  holder text NOT NULL,
  epoch bigint NOT NULL,
  acquired_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  -- makes a change of epoch a change of key, which waits for every FOR KEY SHARE of the fence; a renewal does not
  CONSTRAINT leases_name_epoch_key UNIQUE (name, epoch)
) WITH (fillfactor = 20, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_scale_factor = 0);

INSERT INTO canvas.leases (name, holder, epoch, acquired_at, expires_at) VALUES ('canvas', '', 0, '-infinity', '-infinity');

CREATE FUNCTION canvas.fence_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('svc.lease', true) IS DISTINCT FROM 'moving' THEN
    RAISE EXCEPTION USING ERRCODE = 'SV001', MESSAGE = 'a lease is moved by canvas.lease_* alone';
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON canvas.leases
  FOR EACH STATEMENT EXECUTE FUNCTION canvas.fence_lease();

-- Answers the new epoch, or null while another holder's lease runs. The holder itself gets a new epoch at once. Waits
-- until each transaction that was let through under the old epoch has ended.
CREATE FUNCTION canvas.lease_acquire(lease text, claimant text, ttl interval) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  held canvas.leases;
  granted bigint;
BEGIN
  SELECT * INTO STRICT held FROM canvas.leases WHERE name = lease;
  IF held.holder <> claimant AND held.expires_at > clock_timestamp() THEN RETURN NULL; END IF;
  SELECT * INTO STRICT held FROM canvas.leases WHERE name = lease FOR UPDATE;
  IF held.holder <> claimant AND held.expires_at > clock_timestamp() THEN RETURN NULL; END IF;
  PERFORM set_config('svc.lease', 'moving', true);
  UPDATE canvas.leases
     SET holder = claimant, epoch = held.epoch + 1, acquired_at = clock_timestamp(), expires_at = clock_timestamp() + ttl
   WHERE name = lease RETURNING epoch INTO granted;
  PERFORM set_config('svc.lease', '', true);
  RETURN granted;
END $$;

-- Whether the lease still stands at this epoch. One that ran out unclaimed is taken up again.
CREATE FUNCTION canvas.lease_renew(lease text, held_epoch bigint, ttl interval) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  kept boolean;
BEGIN
  PERFORM set_config('svc.lease', 'moving', true);
  UPDATE canvas.leases SET expires_at = clock_timestamp() + ttl WHERE name = lease AND epoch = held_epoch;
  kept := FOUND;
  PERFORM set_config('svc.lease', '', true);
  RETURN kept;
END $$;

-- Lets the next holder in without waiting for the lease to run out.
CREATE FUNCTION canvas.lease_release(lease text, held_epoch bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  freed boolean;
BEGIN
  PERFORM set_config('svc.lease', 'moving', true);
  UPDATE canvas.leases SET expires_at = '-infinity' WHERE name = lease AND epoch = held_epoch;
  freed := FOUND;
  PERFORM set_config('svc.lease', '', true);
  RETURN freed;
END $$;

-- Every statement that writes the canvas passes here. The lock makes a take-over wait for this transaction, so that
-- nothing of an older epoch can be committed after it. KEY SHARE, so that it never waits for a renewal nor holds one up.
CREATE FUNCTION canvas.fence() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  claimed text := current_setting('svc.epoch', true);
BEGIN
  PERFORM 1 FROM canvas.leases WHERE name = 'canvas' AND epoch = NULLIF(claimed, '')::bigint FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'SV001',
      MESSAGE = format('the canvas is written under another epoch than %s', coalesce(NULLIF(claimed, ''), 'none'));
  END IF;
  RETURN NULL;
END $$;

-- Puts the fence on each canvas table that lacks it. A migration that adds a canvas table ends with this call.
CREATE FUNCTION canvas.fence_tables() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  bare record;
BEGIN
  FOR bare IN
    SELECT c.oid::regclass AS name FROM pg_class c
     WHERE c.relnamespace = 'canvas'::regnamespace AND c.relkind IN ('r', 'p')
       AND NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'fence')
  LOOP
    EXECUTE format('CREATE TRIGGER fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON %s '
                   'FOR EACH STATEMENT EXECUTE FUNCTION canvas.fence()', bare.name);
  END LOOP;
END $$;

------------------------------------------------------------------------------------------------------------------------
-- canvas: nodes
------------------------------------------------------------------------------------------------------------------------

CREATE TABLE canvas.nodes (
  id text PRIMARY KEY,
  name text NOT NULL,
  description text,
  kind text NOT NULL,
  mode text NOT NULL CONSTRAINT nodes_mode_check CHECK (mode IN ('base', 'orchestrator')),
  lifecycle text NOT NULL CONSTRAINT nodes_lifecycle_check CHECK (lifecycle IN ('terminal', 'resident')),
  status text NOT NULL CONSTRAINT nodes_status_check CHECK (status IN ('active', 'idle', 'done', 'dead', 'canceled')),
  intent text CONSTRAINT nodes_intent_check CHECK (intent IN ('done', 'refresh', 'idle_release')),
  parent_id text,
  root_id text NOT NULL,
  depth integer NOT NULL CHECK (depth >= 0),
  spawned_by text,
  forked_from json,
  engine text NOT NULL,
  exec json,
  cwd text NOT NULL,
  worktree json,
  model json NOT NULL,
  scopes text[] NOT NULL,
  scopes_explicit boolean NOT NULL,
  principal text NOT NULL,
  app_id text,
  profile text,
  run_id text,
  env_profile text,
  cycles integer NOT NULL DEFAULT 0,
  generation integer NOT NULL DEFAULT 0,
  engagement integer NOT NULL DEFAULT 1,
  turn integer NOT NULL DEFAULT 0,
  broker_state text CONSTRAINT nodes_broker_state_check CHECK (broker_state IN ('launching', 'bound', 'stopping')),
  broker_host_id text,
  broker_pid integer,
  broker_started_at timestamptz(3),
  broker_bound_at timestamptz(3),
  broker_heartbeat_at timestamptz(3),
  launched_at timestamptz(3),
  next_launch_at timestamptz(3),
  launches timestamptz(3)[] NOT NULL DEFAULT '{}',
  interrupt_request integer NOT NULL DEFAULT 0,
  result_schema json,
  input_tokens bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  cached_tokens bigint NOT NULL DEFAULT 0,
  cost_usd numeric(20, 10) NOT NULL DEFAULT 0,
  context_tokens bigint NOT NULL DEFAULT 0,
  fault json,
  version integer NOT NULL DEFAULT 1,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  CONSTRAINT nodes_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES canvas.nodes (id) ON DELETE SET NULL,
  CONSTRAINT nodes_root_check CHECK (depth > 0 OR root_id = id),
  CONSTRAINT nodes_broker_check CHECK (broker_pid IS NULL OR (broker_host_id IS NOT NULL AND broker_started_at IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX nodes_created_at_id_idx ON canvas.nodes (created_at, id);
CREATE INDEX nodes_status_created_at_id_idx ON canvas.nodes (status, created_at, id);
CREATE INDEX nodes_root_id_created_at_id_idx ON canvas.nodes (root_id, created_at, id);
CREATE INDEX nodes_parent_id_idx ON canvas.nodes (parent_id);
CREATE INDEX nodes_app_id_created_at_id_idx ON canvas.nodes (app_id, created_at, id);
CREATE INDEX nodes_run_id_idx ON canvas.nodes (run_id) WHERE run_id IS NOT NULL;

-- Counters stand apart from the node: a narrow row without other indexes, so that counting never rewrites the wide one.
CREATE TABLE canvas.counters (
  node_id text PRIMARY KEY REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  root_id text NOT NULL,
  event_seq bigint NOT NULL DEFAULT 0,
  mail_seq bigint NOT NULL DEFAULT 0,
  journal_ord bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- The counter of a whole tree; always the last row that a transaction locks.
CREATE TABLE canvas.trees (
  root_id text PRIMARY KEY REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  event_seq bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.05);

CREATE FUNCTION canvas.count_node() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO canvas.counters (node_id, root_id) VALUES (NEW.id, NEW.root_id);
  IF NEW.root_id = NEW.id THEN INSERT INTO canvas.trees (root_id) VALUES (NEW.id); END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER count_node AFTER INSERT ON canvas.nodes FOR EACH ROW EXECUTE FUNCTION canvas.count_node();

CREATE TABLE canvas.subscriptions (
  subscriber text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  publisher text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  mode text NOT NULL CONSTRAINT subscriptions_mode_check CHECK (mode IN ('active', 'passive')),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (subscriber, publisher),
  CONSTRAINT subscriptions_self_check CHECK (subscriber <> publisher)
);
CREATE INDEX subscriptions_publisher_idx ON canvas.subscriptions (publisher);

-- The log of record. Opaque values are json, not jsonb: kept as they were sent, U+0000 included.
CREATE TABLE canvas.events (
  node_id text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  seq bigint NOT NULL CHECK (seq > 0),
  root_id text NOT NULL,
  tree_seq bigint NOT NULL CHECK (tree_seq > 0),
  id text NOT NULL,
  type text NOT NULL,
  time timestamptz(3) NOT NULL,
  actor json NOT NULL,
  correlation_id text,
  causation_id text,
  data json NOT NULL,
  PRIMARY KEY (node_id, seq),
  CONSTRAINT events_root_id_tree_seq_key UNIQUE (root_id, tree_seq)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.1);

-- History of the record: one row a transition.
CREATE TABLE canvas.transitions (
  node_id text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  version integer NOT NULL,
  event text NOT NULL,
  from_status text,
  to_status text NOT NULL,
  intent text,
  actor json NOT NULL,
  at timestamptz(3) NOT NULL,
  PRIMARY KEY (node_id, version)
);

------------------------------------------------------------------------------------------------------------------------
-- canvas: mail, reports, results
------------------------------------------------------------------------------------------------------------------------

CREATE TABLE canvas.mail (
  id text PRIMARY KEY,
  node_id text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  seq bigint NOT NULL,
  tier text NOT NULL CONSTRAINT mail_tier_check CHECK (tier IN ('critical', 'urgent', 'normal', 'deferred')),
  kind text NOT NULL CONSTRAINT mail_kind_check CHECK (kind IN ('prompt', 'message', 'report', 'notice')),
  body text NOT NULL,
  parts json,
  attachments json,
  source json NOT NULL,
  engagement integer NOT NULL,
  created_at timestamptz(3) NOT NULL,
  claimed_generation integer,
  lease_expires_at timestamptz(3),
  acknowledged_at timestamptz(3),
  turn integer,
  CONSTRAINT mail_node_id_seq_key UNIQUE (node_id, seq)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX mail_unread_idx ON canvas.mail (node_id, seq) WHERE acknowledged_at IS NULL;

CREATE TABLE canvas.reports (
  id text PRIMARY KEY,
  node_id text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  engagement integer NOT NULL,
  kind text NOT NULL CONSTRAINT reports_kind_check CHECK (kind IN ('update', 'urgent', 'final')),
  body text NOT NULL,
  attachments json,
  created_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX reports_final_key ON canvas.reports (node_id, engagement) WHERE kind = 'final';
CREATE INDEX reports_node_id_created_at_id_idx ON canvas.reports (node_id, created_at, id);

CREATE TABLE canvas.results (
  node_id text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  engagement integer NOT NULL,
  value json NOT NULL,
  report_id text,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (node_id, engagement)
);

------------------------------------------------------------------------------------------------------------------------
-- canvas: what engines did
------------------------------------------------------------------------------------------------------------------------

CREATE TABLE canvas.journal (
  node_id text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  ord bigint NOT NULL CHECK (ord > 0),
  generation integer NOT NULL,
  engagement integer NOT NULL,
  turn integer NOT NULL,
  step integer,
  type text NOT NULL
    CONSTRAINT journal_type_check CHECK (type IN ('turn_started', 'message', 'tool_started', 'tool_ended', 'turn_ended')),
  payload json NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (node_id, ord)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.1);

CREATE TABLE canvas.tool_calls (
  node_id text NOT NULL REFERENCES canvas.nodes (id) ON DELETE CASCADE,
  turn integer NOT NULL,
  call_id text NOT NULL,
  step integer NOT NULL,
  name text NOT NULL,
  status text NOT NULL
    CONSTRAINT tool_calls_status_check CHECK (status IN ('started', 'completed', 'failed', 'canceled', 'outcome_unknown')),
  generation integer NOT NULL,
  started_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3),
  -- providers number their calls anew in each turn, so that an id alone may come back
  PRIMARY KEY (node_id, turn, call_id),
  CONSTRAINT tool_calls_ended_check CHECK ((status = 'started') = (ended_at IS NULL))
) WITH (fillfactor = 80);
CREATE INDEX tool_calls_open_idx ON canvas.tool_calls (node_id) WHERE status = 'started';

------------------------------------------------------------------------------------------------------------------------
-- canvas: idempotency, outbox, inbox
------------------------------------------------------------------------------------------------------------------------

CREATE TABLE canvas.idempotency (
  principal text NOT NULL,
  key text NOT NULL,
  operation text NOT NULL,
  body_hash bytea NOT NULL,
  response json,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (principal, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX idempotency_expires_at_idx ON canvas.idempotency (expires_at);

CREATE TABLE canvas.outbox (
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
CREATE INDEX outbox_open_idx ON canvas.outbox (next_attempt_at, id) WHERE acknowledged_at IS NULL;
CREATE INDEX outbox_acknowledged_at_idx ON canvas.outbox (acknowledged_at) WHERE acknowledged_at IS NOT NULL;

CREATE TABLE canvas.inbox (
  source text NOT NULL,
  source_event text NOT NULL,
  received_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (source, source_event)
);
CREATE INDEX inbox_received_at_idx ON canvas.inbox (received_at);

SELECT canvas.fence_tables();

------------------------------------------------------------------------------------------------------------------------
-- gateway: tokens
------------------------------------------------------------------------------------------------------------------------

CREATE TABLE gateway.tokens (
  id text PRIMARY KEY,
  kind text NOT NULL CONSTRAINT tokens_kind_check CHECK (kind IN ('own', 'app', 'run', 'pub', 'rt')),
  hash bytea NOT NULL CONSTRAINT tokens_hash_check CHECK (length(hash) = 32),
  app_id text,
  profile text,
  node_id text,
  scopes text[] NOT NULL,
  label text,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  revoked_at timestamptz(3)
);
CREATE INDEX tokens_app_id_idx ON gateway.tokens (app_id) WHERE app_id IS NOT NULL;
CREATE UNIQUE INDEX tokens_owner_key ON gateway.tokens (kind) WHERE kind = 'own' AND revoked_at IS NULL;

CREATE TABLE gateway.idempotency (
  principal text NOT NULL,
  key text NOT NULL,
  operation text NOT NULL,
  body_hash bytea NOT NULL,
  response json,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (principal, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX idempotency_expires_at_idx ON gateway.idempotency (expires_at);

------------------------------------------------------------------------------------------------------------------------
-- models: credentials, config, calls
------------------------------------------------------------------------------------------------------------------------

CREATE TABLE models.credentials (
  provider text PRIMARY KEY,
  kind text NOT NULL CONSTRAINT credentials_kind_check CHECK (kind IN ('api_key', 'oauth')),
  ciphertext bytea NOT NULL,
  nonce bytea NOT NULL,
  tag bytea NOT NULL,
  key_id text NOT NULL,
  label text,
  last_four text,
  health json NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);

CREATE TABLE models.config (
  id integer PRIMARY KEY CONSTRAINT config_one_row_check CHECK (id = 1),
  version integer NOT NULL,
  document json NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
INSERT INTO models.config (id, version, document, updated_at) VALUES (1, 1, '{}', now());

-- Under node, turn and step, not the generation: an answer that was paid for serves the next generation too.
CREATE TABLE models.calls (
  node_id text NOT NULL,
  turn integer NOT NULL,
  step integer NOT NULL,
  attempt integer NOT NULL CHECK (attempt > 0),
  request_hash text NOT NULL,
  status text NOT NULL CONSTRAINT calls_status_check CHECK (status IN ('started', 'completed', 'failed', 'outcome_unknown')),
  provider text,
  model text,
  response json,
  input_tokens bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  cached_tokens bigint NOT NULL DEFAULT 0,
  cost_usd numeric(20, 10) NOT NULL DEFAULT 0,
  error json,
  holder text NOT NULL,
  started_at timestamptz(3) NOT NULL,
  ended_at timestamptz(3),
  PRIMARY KEY (node_id, turn, step, attempt),
  CONSTRAINT calls_ended_check CHECK ((status = 'started') = (ended_at IS NULL)),
  CONSTRAINT calls_response_check CHECK (status <> 'completed' OR response IS NOT NULL)
) WITH (fillfactor = 80);
CREATE INDEX calls_started_at_idx ON models.calls (started_at);
CREATE INDEX calls_open_idx ON models.calls (holder) WHERE status = 'started';

CREATE TABLE models.idempotency (
  principal text NOT NULL,
  key text NOT NULL,
  operation text NOT NULL,
  body_hash bytea NOT NULL,
  response json,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (principal, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX idempotency_expires_at_idx ON models.idempotency (expires_at);

CREATE TABLE models.outbox (
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
CREATE INDEX outbox_open_idx ON models.outbox (next_attempt_at, id) WHERE acknowledged_at IS NULL;
CREATE INDEX outbox_acknowledged_at_idx ON models.outbox (acknowledged_at) WHERE acknowledged_at IS NOT NULL;

CREATE TABLE models.inbox (
  source text NOT NULL,
  source_event text NOT NULL,
  received_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (source, source_event)
);
CREATE INDEX inbox_received_at_idx ON models.inbox (received_at);
