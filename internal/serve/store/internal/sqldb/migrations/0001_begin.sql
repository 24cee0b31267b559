-- Times are nanoseconds since 1970 UTC, 0 stands for none. Columns of bytes hold
-- what may be no text: PostgreSQL refuses NUL and invalid UTF-8 in text.

CREATE TABLE counters (
	name  TEXT NOT NULL PRIMARY KEY,
	value BIGINT NOT NULL
);

CREATE TABLE approvals (
	id       TEXT NOT NULL PRIMARY KEY,
	seq      BIGINT NOT NULL UNIQUE,
	status   TEXT NOT NULL,
	project  TEXT NOT NULL,
	session  TEXT NOT NULL,
	expires  BIGINT NOT NULL,
	asked    BIGINT NOT NULL,
	changed  BIGINT NOT NULL,
	state    BYTES NOT NULL,
	question BYTES,
	reason   BYTES NOT NULL,
	reply    BYTES
);
CREATE INDEX approvals_status ON approvals (status, seq);
CREATE INDEX approvals_expires ON approvals (status, expires);

CREATE TABLE tokens (
	id         TEXT NOT NULL PRIMARY KEY,
	hash       TEXT NOT NULL UNIQUE,
	name       TEXT NOT NULL,
	role       TEXT NOT NULL,
	agent_role TEXT NOT NULL,
	created    BIGINT NOT NULL,
	expires    BIGINT NOT NULL,
	revoked    BIGINT NOT NULL
);

CREATE TABLE sessions (
	id           TEXT NOT NULL PRIMARY KEY,
	version      BIGINT NOT NULL,
	agent        TEXT NOT NULL,
	agent_role   TEXT NOT NULL,
	conversation TEXT NOT NULL,
	host         TEXT NOT NULL,
	state        TEXT NOT NULL,
	pty          TEXT NOT NULL,
	owner        TEXT NOT NULL,
	dir          BYTES NOT NULL,
	project      BYTES NOT NULL,
	metadata     BYTES,
	created      BIGINT NOT NULL,
	active       BIGINT NOT NULL,
	server       TEXT NOT NULL
);

CREATE TABLE commands (
	id           TEXT NOT NULL PRIMARY KEY,
	seq          BIGINT NOT NULL UNIQUE,
	session      TEXT NOT NULL,
	conversation TEXT NOT NULL,
	command      BYTES NOT NULL,
	description  BYTES NOT NULL,
	dir          BYTES NOT NULL,
	by_whom      TEXT NOT NULL,
	forced       BIGINT NOT NULL,
	risk         TEXT NOT NULL,
	reasons      BYTES NOT NULL,
	state        TEXT NOT NULL,
	approval     TEXT NOT NULL,
	comment      BYTES NOT NULL,
	exit_code    BIGINT,
	created      BIGINT NOT NULL,
	changed      BIGINT NOT NULL
);
CREATE INDEX commands_session ON commands (session, seq);
CREATE INDEX commands_conversation ON commands (conversation, seq);
-- One command of a session at a time.
CREATE UNIQUE INDEX commands_open ON commands (session) WHERE state IN ('pending_approval', 'approved', 'executing');

CREATE TABLE chat (
	conversation TEXT NOT NULL,
	seq          BIGINT NOT NULL,
	session      TEXT NOT NULL,
	sender       TEXT NOT NULL,
	type         TEXT NOT NULL,
	body         BYTES NOT NULL,
	at           BIGINT NOT NULL,
	PRIMARY KEY (conversation, seq)
);

CREATE TABLE grants (
	id      TEXT NOT NULL PRIMARY KEY,
	person  TEXT NOT NULL,
	project TEXT NOT NULL,
	rule    BYTES NOT NULL,
	risk    TEXT NOT NULL,
	created BIGINT NOT NULL,
	expires BIGINT NOT NULL,
	revoked BIGINT NOT NULL
);
CREATE INDEX grants_person ON grants (person, project);

CREATE TABLE audit (
	seq    BIGINT NOT NULL PRIMARY KEY,
	server TEXT NOT NULL,
	number BIGINT NOT NULL,
	line   BYTES NOT NULL
);
CREATE INDEX audit_server ON audit (server, seq);

-- The names of transactions that were committed, where a connection may be lost.
CREATE TABLE writes (
	name TEXT NOT NULL PRIMARY KEY,
	at   BIGINT NOT NULL
);
