package sqldb

import (
	"context"
	"database/sql"
	"encoding/hex"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

const tokenColumns = `SELECT id, hash, name, role, agent_role, created, expires, revoked FROM tokens`

func scanToken(row scanner) (t store.Token, err error) {
	var hash string
	err = row.Scan(&t.ID, &hash, &t.Name, &t.Role, &t.AgentRole, instant{&t.Created}, instant{&t.Expires}, instant{&t.Revoked})
	if err != nil {
		return t, err
	}
	_, err = hex.Decode(t.Hash[:], []byte(hash))
	return t, err
}

// CreateToken adds a credential.
func (d *DB) CreateToken(ctx context.Context, t store.Token) error {
	return d.write(ctx, func(tx *sql.Tx) error {
		return exec(ctx, tx, store.ErrExists, `INSERT INTO tokens (id, hash, name, role, agent_role, created, expires, revoked)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
			t.ID, hex.EncodeToString(t.Hash[:]), t.Name, t.Role, t.AgentRole, nanos(t.Created), nanos(t.Expires), nanos(t.Revoked))
	})
}

// Token returns the credential with a hash.
func (d *DB) Token(ctx context.Context, hash [32]byte) (store.Token, error) {
	t, err := readOne(ctx, d, scanToken, tokenColumns+` WHERE hash = $1`, hex.EncodeToString(hash[:]))
	return t, or(err, store.ErrUnknown)
}

// Tokens returns all credentials.
func (d *DB) Tokens(ctx context.Context) ([]store.Token, error) {
	return readAll(ctx, d, scanToken, tokenColumns+` ORDER BY created, id`)
}

// RevokeToken ends a credential.
func (d *DB) RevokeToken(ctx context.Context, id string, at time.Time) error {
	return d.revoke(ctx, "tokens", id, at)
}

// revoke sets when a record ended, unless it has ended already.
func (d *DB) revoke(ctx context.Context, table, id string, at time.Time) error {
	return d.write(ctx, func(tx *sql.Tx) error {
		return exec(ctx, tx, store.ErrUnknown,
			`UPDATE `+table+` SET revoked = CASE WHEN revoked = 0 THEN $1 ELSE revoked END WHERE id = $2`, nanos(at), id)
	})
}

const grantColumns = `SELECT id, person, project, rule, risk, created, expires, revoked FROM grants`

func scanGrant(row scanner) (g store.Grant, err error) {
	var rule []byte
	err = row.Scan(&g.ID, &g.Person, &g.Project, &rule, &g.Risk, instant{&g.Created}, instant{&g.Expires}, instant{&g.Revoked})
	g.Rule = string(rule)
	return g, err
}

// CreateGrant adds a remembered approval.
func (d *DB) CreateGrant(ctx context.Context, g store.Grant) error {
	return d.write(ctx, func(tx *sql.Tx) error {
		return exec(ctx, tx, store.ErrExists, `INSERT INTO grants (id, person, project, rule, risk, created, expires, revoked)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
			g.ID, g.Person, g.Project, []byte(g.Rule), g.Risk, nanos(g.Created), nanos(g.Expires), nanos(g.Revoked))
	})
}

// Grants returns the remembered approvals of a person and a project.
func (d *DB) Grants(ctx context.Context, person, project string) ([]store.Grant, error) {
	var c conditions
	c.equal("person", person)
	c.equal("project", project)
	return readAll(ctx, d, scanGrant, grantColumns+c.text+` ORDER BY created, id`, c.args...)
}

// RevokeGrant ends a remembered approval.
func (d *DB) RevokeGrant(ctx context.Context, id string, at time.Time) error {
	return d.revoke(ctx, "grants", id, at)
}
