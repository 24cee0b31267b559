-- Who has a terminal outlasts the server.
ALTER TABLE sessions ADD COLUMN person TEXT NOT NULL DEFAULT '';
