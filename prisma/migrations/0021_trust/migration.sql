-- gateway: apps and what they were granted, the life of tokens, what the daemon is reached by, the audit log

CREATE TABLE gateway.apps (
  id text PRIMARY KEY,
  name text NOT NULL CONSTRAINT apps_name_key UNIQUE,
  description text,
  origins text[] NOT NULL,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
CREATE INDEX apps_created_at_idx ON gateway.apps (created_at DESC, id DESC);

-- Outlives its app: what ran for a removed one is held to a revoked grant.
CREATE TABLE gateway.grants (
  app_id text NOT NULL,
  user_id text NOT NULL,
  scopes text[] NOT NULL,
  -- those of the app that it is for, unless it is for every one
  profiles text[] NOT NULL,
  every_profile boolean NOT NULL,
  version bigint NOT NULL CONSTRAINT grants_version_check CHECK (version > 0),
  status text NOT NULL CONSTRAINT grants_status_check CHECK (status IN ('active', 'revoked')),
  updated_at timestamptz(3) NOT NULL,
  PRIMARY KEY (app_id, user_id)
);

ALTER TABLE gateway.tokens
  -- the token that this one was put in the place of
  ADD COLUMN rotated_from text CONSTRAINT tokens_rotated_from_key UNIQUE,
  -- without a list of its own: whatever the grant of its app holds
  ADD COLUMN follows_grant boolean NOT NULL DEFAULT false,
  -- the object that a publish token publishes to
  ADD COLUMN object_ref text;
-- The owner's token has one successor at a time; the one before may go on for a while, to an end of its own.
DROP INDEX gateway.tokens_owner_key;
CREATE UNIQUE INDEX tokens_owner_key ON gateway.tokens (kind)
  WHERE kind = 'own' AND revoked_at IS NULL AND expires_at IS NULL;
CREATE INDEX tokens_created_at_idx ON gateway.tokens (created_at DESC, id DESC);

CREATE TABLE gateway.access (
  id integer PRIMARY KEY CONSTRAINT access_one_row_check CHECK (id = 1),
  listen text[] NOT NULL,
  hosts text[] NOT NULL,
  origins text[] NOT NULL,
  version bigint NOT NULL,
  updated_at timestamptz(3) NOT NULL
);
INSERT INTO gateway.access (id, listen, hosts, origins, version, updated_at) VALUES (1, '{}', '{}', '{}', 1, now());

-- A chain: each line's hash covers the one before. `gateway.audit_head` is its end, locked by whoever appends.
CREATE TABLE gateway.audit (
  seq bigint PRIMARY KEY,
  at timestamptz(3) NOT NULL,
  actor_kind text NOT NULL,
  principal text NOT NULL,
  token_id text,
  operation text,
  resource text,
  decision text NOT NULL CONSTRAINT audit_decision_check CHECK (decision IN ('allowed', 'denied')),
  code text,
  listener text NOT NULL,
  remote text,
  request_id text NOT NULL,
  repeated integer NOT NULL CONSTRAINT audit_repeated_check CHECK (repeated > 0),
  hash bytea NOT NULL CONSTRAINT audit_hash_check CHECK (length(hash) = 32)
);
CREATE INDEX audit_principal_idx ON gateway.audit (principal, seq);
CREATE INDEX audit_operation_idx ON gateway.audit (operation, seq);
CREATE INDEX audit_denied_idx ON gateway.audit (seq) WHERE decision = 'denied';

CREATE TABLE gateway.audit_head (
  id integer PRIMARY KEY CONSTRAINT audit_head_one_row_check CHECK (id = 1),
  seq bigint NOT NULL,
  hash bytea NOT NULL,
  -- what was pruned: the line after it can still be checked
  anchor_seq bigint NOT NULL,
  anchor_hash bytea NOT NULL
) WITH (fillfactor = 20);
INSERT INTO gateway.audit_head (id, seq, hash, anchor_seq, anchor_hash)
VALUES (1, 0, decode(repeat('00', 32), 'hex'), 0, decode(repeat('00', 32), 'hex'));

-- A line is never changed, and goes only where retention has moved the anchor beyond it, so that what is left can still
-- be checked.
CREATE FUNCTION gateway.refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'lines of the audit log are not changed' USING ERRCODE = 'SV002';
END $$;
CREATE TRIGGER audit_no_update BEFORE UPDATE OR TRUNCATE ON gateway.audit
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.refuse_audit_change();

CREATE FUNCTION gateway.refuse_audit_loss() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM gone WHERE seq > (SELECT anchor_seq FROM gateway.audit_head)) THEN
    RAISE EXCEPTION 'lines of the audit log beyond its anchor are not deleted' USING ERRCODE = 'SV002';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_no_loss AFTER DELETE ON gateway.audit REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.refuse_audit_loss();

CREATE FUNCTION gateway.refuse_audit_rewind() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.id = OLD.id AND NEW.seq >= OLD.seq AND NEW.anchor_seq >= OLD.anchor_seq
     AND NEW.anchor_seq <= NEW.seq THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'the audit log only goes forward' USING ERRCODE = 'SV002';
END $$;
CREATE TRIGGER audit_head_forward BEFORE UPDATE OR DELETE ON gateway.audit_head
  FOR EACH ROW EXECUTE FUNCTION gateway.refuse_audit_rewind();
CREATE TRIGGER audit_head_kept BEFORE TRUNCATE ON gateway.audit_head
  FOR EACH STATEMENT EXECUTE FUNCTION gateway.refuse_audit_change();

-- canvas: the grants as the gateway told them, for what is started without a request of the app's own

CREATE TABLE canvas.grants (
  app_id text PRIMARY KEY,
  scopes text[] NOT NULL,
  profiles text[] NOT NULL,
  every_profile boolean NOT NULL,
  version bigint NOT NULL,
  status text NOT NULL CONSTRAINT grants_status_check CHECK (status IN ('active', 'revoked')),
  updated_at timestamptz(3) NOT NULL
);

SELECT canvas.fence_tables();
