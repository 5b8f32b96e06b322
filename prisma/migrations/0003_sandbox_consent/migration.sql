-- canvas: what the owner agreed to in words. One that stands for a subject at a time; those taken back are kept.
CREATE TABLE canvas.consents (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  subject text NOT NULL CONSTRAINT consents_subject_check CHECK (subject IN ('sandbox')),
  words text NOT NULL,
  given_by text NOT NULL,
  given_at timestamptz(3) NOT NULL,
  revoked_by text,
  revoked_at timestamptz(3)
);
CREATE UNIQUE INDEX consents_subject_idx ON canvas.consents (subject) WHERE revoked_at IS NULL;

SELECT canvas.fence_tables();
