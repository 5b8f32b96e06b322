-- objects: when a watch was asked for, last. What is said late of one of its ends, before that was brought back, does not end
-- it. `created_at` stays: it says from when on events are heard.

ALTER TABLE objects.watches ADD COLUMN asked_at timestamptz(3) NOT NULL DEFAULT now();
UPDATE objects.watches SET asked_at = created_at;
