-- canvas: what makes a conversation smaller stands in the journal; the role of a persona stays with its node
ALTER TABLE canvas.journal
  DROP CONSTRAINT journal_type_check,
  ADD CONSTRAINT journal_type_check
    CHECK (type IN ('turn_started', 'message', 'tool_started', 'tool_ended', 'compacted', 'turn_ended')) NOT VALID;

ALTER TABLE canvas.nodes ADD COLUMN persona json;
