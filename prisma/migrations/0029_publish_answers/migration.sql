-- objects: what a keyed publication was answered, where that does not follow from its first number and its count

ALTER TABLE objects.keys ADD COLUMN answers json;
