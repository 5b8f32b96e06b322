-- gateway: publish tokens by their object, of which each has one without an end; those before it may go on for a while

CREATE UNIQUE INDEX tokens_publishing_key ON gateway.tokens (object_ref)
  WHERE kind = 'pub' AND revoked_at IS NULL AND expires_at IS NULL;
CREATE INDEX tokens_object_ref_idx ON gateway.tokens (object_ref) WHERE object_ref IS NOT NULL AND revoked_at IS NULL;
