-- what was cleared when, one row a class; each service writes its own
CREATE TABLE canvas.retention (
  class text PRIMARY KEY,
  last_run_at timestamptz(3) NOT NULL,
  -- rows of the last run, and of all of them
  removed bigint NOT NULL,
  removed_total bigint NOT NULL
);
CREATE TABLE models.retention (
  class text PRIMARY KEY,
  last_run_at timestamptz(3) NOT NULL,
  removed bigint NOT NULL,
  removed_total bigint NOT NULL
);

-- the text of an answer is forgotten after a while, and the record of its call is not
ALTER TABLE models.calls DROP CONSTRAINT calls_response_check;

-- answers that are kept still, the oldest first
CREATE INDEX calls_answers_idx ON models.calls (started_at) WHERE response IS NOT NULL;

SELECT canvas.fence_tables();
