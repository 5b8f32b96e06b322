-- objects: custom objects, who watches what, and deliveries

CREATE SCHEMA objects;

CREATE TABLE objects.objects (
  id text PRIMARY KEY,
  name text NOT NULL,
  description text NOT NULL,
  catalog json NOT NULL,
  catalog_version integer NOT NULL,
  receiver json,
  -- which of the secrets that are derived for it signs, and until when the one before it signs too
  secret integer NOT NULL DEFAULT 1,
  former_secret_until timestamptz(3),
  app_id text,
  created_by json NOT NULL,
  version integer NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  -- a row stays for a while after its object, so that a repeated deletion knows which one was meant
  deleted_at timestamptz(3)
);
CREATE UNIQUE INDEX objects_name_key ON objects.objects (name) WHERE deleted_at IS NULL;
CREATE INDEX objects_created_at_idx ON objects.objects (created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX objects_app_id_idx ON objects.objects (app_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
CREATE INDEX objects_deleted_name_idx ON objects.objects (name, deleted_at DESC) WHERE deleted_at IS NOT NULL;
CREATE INDEX objects_deleted_at_idx ON objects.objects (deleted_at) WHERE deleted_at IS NOT NULL;

-- What publishing counts, in a row of its own: whoever publishes locks it until commit, so that the numbers of an object's
-- events grow in the order in which they become visible.
CREATE TABLE objects.sources (
  id text PRIMARY KEY,
  event_seq bigint NOT NULL DEFAULT 0,
  watchers integer NOT NULL DEFAULT 0
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE objects.watches (
  source_id text NOT NULL,
  watcher_id text NOT NULL,
  -- none named: each event
  events text[] NOT NULL,
  tier text NOT NULL CONSTRAINT watches_tier_check CHECK (tier IN ('critical', 'urgent', 'normal', 'deferred')),
  created_by json NOT NULL,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (source_id, watcher_id)
);
CREATE INDEX watches_watcher_id_idx ON objects.watches (watcher_id, created_at DESC, source_id DESC);
CREATE INDEX watches_source_id_idx ON objects.watches (source_id, created_at DESC, watcher_id DESC);
CREATE INDEX watches_created_at_idx ON objects.watches (created_at DESC, source_id DESC, watcher_id DESC);

-- Whatever is delivered to: objects with a receiver, and nodes that watch. `delivery_seq` numbers what comes in and is
-- changed with it; what is acknowledged stands apart, so that neither waits for the other.
CREATE TABLE objects.receivers (
  id text PRIMARY KEY,
  kind text NOT NULL CONSTRAINT receivers_kind_check CHECK (kind IN ('queue', 'url', 'argv', 'node')),
  delivery_seq bigint NOT NULL DEFAULT 0,
  max_pending integer NOT NULL,
  status text NOT NULL DEFAULT 'active' CONSTRAINT receivers_status_check CHECK (status IN ('active', 'paused')),
  reason text CONSTRAINT receivers_reason_check CHECK (reason IN ('asked', 'gone', 'dead')),
  paused_at timestamptz(3),
  -- raised by each change of the status, which orders what is told of it
  status_version integer NOT NULL DEFAULT 0,
  -- when something is to be sent; never of a queue, whose row therefore changes without any index
  due_at timestamptz(3),
  -- which process sends, and until when nobody else does
  holder text,
  held_until timestamptz(3),
  CONSTRAINT receivers_paused_check CHECK ((status = 'paused') = (paused_at IS NOT NULL)),
  CONSTRAINT receivers_reason_paused_check CHECK ((status = 'paused') = (reason IS NOT NULL)),
  CONSTRAINT receivers_due_check CHECK (kind <> 'queue' OR due_at IS NULL)
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX receivers_due_at_idx ON objects.receivers (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX receivers_paused_at_idx ON objects.receivers (paused_at) WHERE paused_at IS NOT NULL;

-- Acknowledged deliveries as ranges: a consumer that keeps the order makes one of them, however many it acknowledges.
CREATE TABLE objects.acks (
  receiver_id text PRIMARY KEY,
  acked int8multirange NOT NULL DEFAULT '{}',
  acked_count bigint NOT NULL DEFAULT 0,
  -- deliveries up to here are not kept any more; all of them were acknowledged
  pruned_seq bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.05);

-- Receivers that take no more, few at any time: what they watch can't publish until this is empty of them.
CREATE TABLE objects.full_receivers (
  receiver_id text PRIMARY KEY,
  since timestamptz(3) NOT NULL
);

-- Only ever inserted, and deleted from the front long after: nobody reads a front that was deleted, since each reader
-- knows where it stands.
CREATE TABLE objects.events (
  source_id text NOT NULL,
  seq bigint NOT NULL,
  -- of a node's event, its own; an object's follows from its place
  event_id text,
  event text NOT NULL,
  payload json NOT NULL,
  published_by json NOT NULL,
  request_id text,
  traceparent text,
  accepted_at timestamptz(3) NOT NULL,
  PRIMARY KEY (source_id, seq)
);

CREATE TABLE objects.deliveries (
  receiver_id text NOT NULL,
  seq bigint NOT NULL,
  source_id text NOT NULL,
  source_seq bigint NOT NULL,
  -- of a node's mail
  tier text,
  created_at timestamptz(3) NOT NULL,
  PRIMARY KEY (receiver_id, seq)
);
-- an event is kept as long as a delivery of it
CREATE INDEX deliveries_source_idx ON objects.deliveries (source_id, source_seq);

-- Events with more watchers than one transaction delivers to, and how far each has come.
CREATE TABLE objects.fanouts (
  source_id text NOT NULL,
  seq bigint NOT NULL,
  -- watchers up to this id have it
  after_watcher text NOT NULL DEFAULT '',
  PRIMARY KEY (source_id, seq)
);

-- Of deliveries that the daemon sends: those that were tried in vain. Most never have a row here.
CREATE TABLE objects.failures (
  receiver_id text NOT NULL,
  seq bigint NOT NULL,
  state text NOT NULL CONSTRAINT failures_state_check CHECK (state IN ('failed', 'dead')),
  attempt integer NOT NULL,
  next_attempt_at timestamptz(3),
  last_error text NOT NULL,
  first_failed_at timestamptz(3) NOT NULL,
  noted_at timestamptz(3) NOT NULL,
  PRIMARY KEY (receiver_id, seq),
  CONSTRAINT failures_next_check CHECK ((state = 'failed') = (next_attempt_at IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX failures_next_attempt_at_idx ON objects.failures (receiver_id, next_attempt_at) WHERE state = 'failed';
CREATE INDEX failures_dead_idx ON objects.failures (receiver_id, seq) WHERE state = 'dead';
CREATE INDEX failures_noted_at_idx ON objects.failures (noted_at DESC, receiver_id DESC, seq DESC);

-- Under which keys events were accepted.
CREATE TABLE objects.keys (
  object_id text NOT NULL,
  key text NOT NULL,
  -- of the request, where another one under the same key is refused
  hash bytea,
  seq bigint NOT NULL,
  count integer NOT NULL,
  accepted_at timestamptz(3) NOT NULL,
  PRIMARY KEY (object_id, key)
);
CREATE INDEX keys_accepted_at_idx ON objects.keys (accepted_at);

-- Publications that were refused since a receiver was full: one growing line for the two of them.
CREATE TABLE objects.refusals (
  source_id text NOT NULL,
  receiver_id text NOT NULL,
  count integer NOT NULL,
  first_at timestamptz(3) NOT NULL,
  last_at timestamptz(3) NOT NULL,
  PRIMARY KEY (source_id, receiver_id)
);
CREATE INDEX refusals_last_at_idx ON objects.refusals (last_at DESC, source_id DESC, receiver_id DESC);

-- Whose deliveries are to be deleted: a receiver that is gone.
CREATE TABLE objects.discarded (
  id text PRIMARY KEY,
  discarded_at timestamptz(3) NOT NULL
);

-- How far the events of nodes have been read for those who watch nodes.
CREATE TABLE objects.follow (
  id integer PRIMARY KEY CONSTRAINT follow_one_row_check CHECK (id = 1),
  position text
);
INSERT INTO objects.follow (id) VALUES (1);

CREATE TABLE objects.idempotency (
  principal text NOT NULL,
  key text NOT NULL,
  operation text NOT NULL,
  body_hash bytea NOT NULL,
  response json,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (principal, key)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX idempotency_expires_at_idx ON objects.idempotency (expires_at);

CREATE TABLE objects.outbox (
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
CREATE INDEX outbox_open_idx ON objects.outbox (next_attempt_at, id) WHERE acknowledged_at IS NULL;
CREATE INDEX outbox_acknowledged_at_idx ON objects.outbox (acknowledged_at) WHERE acknowledged_at IS NOT NULL;

CREATE TABLE objects.inbox (
  source text NOT NULL,
  source_event text NOT NULL,
  received_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (source, source_event)
);
CREATE INDEX inbox_received_at_idx ON objects.inbox (received_at);

CREATE TABLE objects.retention (
  class text PRIMARY KEY,
  last_run_at timestamptz(3) NOT NULL,
  removed bigint NOT NULL,
  removed_total bigint NOT NULL
);
