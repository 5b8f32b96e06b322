-- models: what was spent, a row a day, principal and model. The day is that of UTC.
CREATE TABLE models.spend (
  day date NOT NULL,
  principal text NOT NULL,
  model text NOT NULL,
  calls bigint NOT NULL DEFAULT 0,
  input_tokens bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  cached_tokens bigint NOT NULL DEFAULT 0,
  cost_usd numeric(20, 10) NOT NULL DEFAULT 0,
  PRIMARY KEY (day, principal, model)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
