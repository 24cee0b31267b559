package sqldb

import (
	"context"
	"database/sql"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

const sessionColumns = `SELECT id, version, agent, agent_role, conversation, host, state, pty, owner, dir, project, metadata,
	created, active, server, person FROM sessions`

func scanSession(row scanner) (s store.Session, err error) {
	var dir, project, metadata []byte
	err = row.Scan(&s.ID, &s.Version, &s.AgentID, &s.AgentRole, &s.ConversationID, &s.Host, &s.State, &s.PTYID, &s.Owner,
		&dir, &project, &metadata, instant{&s.Created}, instant{&s.Active}, &s.Server, &s.Person)
	s.Dir, s.Project, s.Metadata = string(dir), string(project), metadata
	return s, err
}

// CreateSession adds a session.
func (d *DB) CreateSession(ctx context.Context, s store.Session) (store.Session, error) {
	s.Version = 1
	return s, d.write(ctx, func(tx *sql.Tx) error {
		return exec(ctx, tx, store.ErrExists, `INSERT INTO sessions (id, version, agent, agent_role, conversation, host, state, pty,
			owner, dir, project, metadata, created, active, server, person)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) ON CONFLICT DO NOTHING`,
			s.ID, s.Version, s.AgentID, s.AgentRole, s.ConversationID, s.Host, s.State, s.PTYID,
			s.Owner, []byte(s.Dir), []byte(s.Project), []byte(s.Metadata), nanos(s.Created), nanos(s.Active), s.Server, s.Person)
	})
}

// Session returns a session.
func (d *DB) Session(ctx context.Context, id string) (store.Session, error) {
	s, err := readOne(ctx, d, scanSession, sessionColumns+` WHERE id = $1`, id)
	return s, or(err, store.ErrUnknown)
}

// Sessions returns the sessions that a filter selects.
func (d *DB) Sessions(ctx context.Context, f store.SessionFilter) ([]store.Session, error) {
	var c conditions
	c.equal("agent", f.AgentID)
	c.equal("conversation", f.ConversationID)
	c.equal("owner", f.Owner)
	c.equal("server", f.Server)
	return readAll(ctx, d, scanSession, sessionColumns+c.text+` ORDER BY created, id`, c.args...)
}

// UpdateSession replaces a session that has not changed.
func (d *DB) UpdateSession(ctx context.Context, s store.Session) (store.Session, error) {
	err := d.write(ctx, func(tx *sql.Tx) error {
		err := exec(ctx, tx, store.ErrChanged, `UPDATE sessions SET version = version + 1, agent = $3, agent_role = $4, conversation = $5,
			host = $6, state = $7, pty = $8, owner = $9, dir = $10, project = $11, metadata = $12, created = $13, active = $14, server = $15, person = $16
			WHERE id = $1 AND version = $2`,
			s.ID, s.Version, s.AgentID, s.AgentRole, s.ConversationID,
			s.Host, s.State, s.PTYID, s.Owner, []byte(s.Dir), []byte(s.Project), []byte(s.Metadata), nanos(s.Created), nanos(s.Active), s.Server, s.Person)
		return d.gone(ctx, tx, err, "sessions", s.ID)
	})
	if err == nil {
		s.Version++
	}
	return s, err
}

// DeleteSession removes a session that has not changed.
func (d *DB) DeleteSession(ctx context.Context, s store.Session) error {
	return d.write(ctx, func(tx *sql.Tx) error {
		err := exec(ctx, tx, store.ErrChanged, `DELETE FROM sessions WHERE id = $1 AND version = $2`, s.ID, s.Version)
		return d.gone(ctx, tx, err, "sessions", s.ID)
	})
}

// gone makes store.ErrChanged that the record is unknown, if it is not there.
func (d *DB) gone(ctx context.Context, tx *sql.Tx, err error, table, id string) error {
	if err != store.ErrChanged {
		return err
	}
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM `+table+` WHERE id = $1`, id).Scan(&n); err != nil {
		return err
	}
	if n == 0 {
		return store.ErrUnknown
	}
	return store.ErrChanged
}
