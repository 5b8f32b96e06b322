-- canvas: contexts, waits and successions of nodes
ALTER TABLE canvas.nodes
  -- the conversation that the engine works with begins at this entry of the journal; what stands before is history
  ADD COLUMN context integer NOT NULL DEFAULT 1,
  ADD COLUMN context_from bigint NOT NULL DEFAULT 1 CHECK (context_from > 0),
  ADD COLUMN yield_note text,
  ADD COLUMN refresh_asked_at timestamptz(3),
  ADD COLUMN waiting_since timestamptz(3),
  ADD COLUMN wait_until timestamptz(3),
  ADD COLUMN wait_reason text,
  -- a root that takes the place of another one
  ADD COLUMN succeeds text,
  ADD COLUMN succession text CONSTRAINT nodes_succession_check CHECK (succession IN ('booting', 'taken_over', 'failed')),
  ADD CONSTRAINT nodes_refresh_check CHECK ((intent IS NOT DISTINCT FROM 'refresh') = (refresh_asked_at IS NOT NULL)),
  ADD CONSTRAINT nodes_wait_check CHECK (waiting_since IS NOT NULL OR (wait_until IS NULL AND wait_reason IS NULL)),
  ADD CONSTRAINT nodes_succession_of_check CHECK ((succeeds IS NULL) = (succession IS NULL));

CREATE INDEX nodes_wait_until_idx ON canvas.nodes (wait_until) WHERE wait_until IS NOT NULL;
CREATE INDEX nodes_refresh_asked_at_idx ON canvas.nodes (refresh_asked_at) WHERE refresh_asked_at IS NOT NULL;
CREATE INDEX nodes_succession_idx ON canvas.nodes (id) WHERE succession = 'booting';
CREATE INDEX nodes_succeeds_idx ON canvas.nodes (succeeds) WHERE succeeds IS NOT NULL;

-- a kickoff stands at the beginning of a context, as the prompt does at the beginning of a node
ALTER TABLE canvas.mail
  DROP CONSTRAINT mail_kind_check,
  ADD CONSTRAINT mail_kind_check CHECK (kind IN ('prompt', 'kickoff', 'message', 'report', 'notice'));

SELECT canvas.fence_tables();
