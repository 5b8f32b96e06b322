-- objects: all secrets that sign while rotations overlap, and the version at which a receiver changed last

ALTER TABLE objects.objects
  -- the oldest one that signs until `former_secret_until`; none named: the one before `secret`
  ADD COLUMN former_secret integer,
  -- tells a run of a program from one of the same number before a change
  ADD COLUMN receiver_version integer NOT NULL DEFAULT 1;
