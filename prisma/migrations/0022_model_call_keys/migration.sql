-- A model call is sent between two transactions: its key is taken before, by the process that runs it, and answered after.
-- Nothing for an answer that came, or was cut off unseen.
ALTER TABLE models.idempotency ADD COLUMN holder text;
