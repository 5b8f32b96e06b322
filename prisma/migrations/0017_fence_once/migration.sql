-- canvas: the fence looks at the lease once a transaction. What holds a take-over up is a shared advisory lock instead of
-- a lock on the lease's row, which wrote that row in every statement. Its key is in the two-number space; the locks by
-- which the processes of other services are known are in the one-number space.
CREATE FUNCTION canvas.fence_key() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 1937138273';

-- Every statement that writes the canvas passes here; the first one of a transaction takes the lock and looks. The setting
-- is the transaction's own, and goes with the lock when a savepoint is rolled back.
CREATE OR REPLACE FUNCTION canvas.fence() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  claimed text := NULLIF(current_setting('svc.epoch', true), '');
BEGIN
  IF claimed = current_setting('svc.fenced', true) THEN RETURN NULL; END IF;
  PERFORM pg_advisory_xact_lock_shared(canvas.fence_key(), 0);
  PERFORM 1 FROM canvas.leases WHERE name = 'canvas' AND epoch = claimed::bigint;
  IF NOT FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'SV001',
      MESSAGE = format('the canvas is written under another epoch than %s', coalesce(claimed, 'none'));
  END IF;
  PERFORM set_config('svc.fenced', claimed, true);
  RETURN NULL;
END $$;

-- As before, but what it waits for is the lock: each transaction that was let through under the old epoch has ended when
-- it is granted, and each that comes after it sees the new one.
CREATE OR REPLACE FUNCTION canvas.lease_acquire(lease text, claimant text, ttl interval) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  held canvas.leases;
  granted bigint;
BEGIN
  SELECT * INTO STRICT held FROM canvas.leases WHERE name = lease;
  IF held.holder <> claimant AND held.expires_at > clock_timestamp() THEN RETURN NULL; END IF;
  PERFORM pg_advisory_xact_lock(canvas.fence_key(), 0);
  SELECT * INTO STRICT held FROM canvas.leases WHERE name = lease FOR UPDATE;
  IF held.holder <> claimant AND held.expires_at > clock_timestamp() THEN RETURN NULL; END IF;
  PERFORM set_config('svc.lease', 'moving', true);
  UPDATE canvas.leases
     SET holder = claimant, epoch = held.epoch + 1, acquired_at = clock_timestamp(), expires_at = clock_timestamp() + ttl
   WHERE name = lease RETURNING epoch INTO granted;
  PERFORM set_config('svc.lease', '', true);
  RETURN granted;
END $$;
