-- Of an approval whose asker may die: for how long nothing may be heard of it, and when
-- something was, both in nanoseconds.
ALTER TABLE approvals ADD COLUMN lease BIGINT NOT NULL DEFAULT 0;
ALTER TABLE approvals ADD COLUMN heard BIGINT NOT NULL DEFAULT 0;
