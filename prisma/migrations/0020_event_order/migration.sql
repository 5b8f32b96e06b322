-- canvas: the stream of all events keeps the order of each tree
--
-- A transaction may have its number before it waits for the tree that another one is about to write in, and writes in it
-- after that one, with the lower number. So an event stands in the stream at the number of its transaction or at that of
-- the newest event before it in its tree, whichever is higher. What is in flight now is older than all that comes after.
ALTER TABLE canvas.trees ADD COLUMN last_xid xid8 NOT NULL DEFAULT '0';
