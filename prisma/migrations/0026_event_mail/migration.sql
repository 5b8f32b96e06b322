-- canvas: mail about events that a node watches
ALTER TABLE canvas.mail
  DROP CONSTRAINT mail_kind_check,
  ADD CONSTRAINT mail_kind_check CHECK (kind IN ('prompt', 'kickoff', 'message', 'report', 'notice', 'answer', 'event'));

SELECT canvas.fence_tables();
