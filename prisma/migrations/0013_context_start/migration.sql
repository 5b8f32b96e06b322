-- canvas: entries of the journal that a fork was made with are its source's work: they are neither counted nor indexed again
ALTER TABLE canvas.nodes ADD COLUMN copied_ord bigint NOT NULL DEFAULT 0 CHECK (copied_ord >= 0);

-- the kickoff of a context that no process has begun yet has no text: it is written when one binds
CREATE INDEX mail_kickoff_idx ON canvas.mail (node_id) WHERE kind = 'kickoff' AND acknowledged_at IS NULL;
