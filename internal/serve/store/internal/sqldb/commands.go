package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

const commandColumns = `SELECT id, session, conversation, command, description, dir, by_whom, forced, risk, reasons, state,
	approval, comment, exit_code, created, changed FROM commands`

func scanCommand(row scanner) (c store.Command, err error) {
	var line, description, dir, reasons, comment []byte
	var forced int
	var exit sql.NullInt64
	if err := row.Scan(&c.ID, &c.SessionID, &c.ConversationID, &line, &description, &dir, &c.By, &forced, &c.Risk, &reasons, &c.State,
		&c.ApprovalID, &comment, &exit, instant{&c.Created}, instant{&c.Changed}); err != nil {
		return c, err
	}
	c.Command, c.Description, c.Dir, c.Comment, c.Force = string(line), string(description), string(dir), string(comment), forced != 0
	if exit.Valid {
		code := int(exit.Int64)
		c.Exit = &code
	}
	return c, json.Unmarshal(reasons, &c.Reasons)
}

// fields returns the columns of a command that may change, after the first $1.
func fields(c *store.Command) ([]any, error) {
	reasons, err := json.Marshal(c.Reasons)
	if err != nil {
		return nil, err
	}
	var exit sql.NullInt64
	if c.Exit != nil {
		exit = sql.NullInt64{Int64: int64(*c.Exit), Valid: true}
	}
	forced := 0
	if c.Force {
		forced = 1
	}
	return []any{
		c.ID, c.SessionID, c.ConversationID, []byte(c.Command), []byte(c.Description), []byte(c.Dir), c.By, forced, c.Risk,
		reasons, string(c.State), c.ApprovalID, []byte(c.Comment), exit, nanos(c.Created), nanos(c.Changed),
	}, nil
}

// CreateCommand adds a command.
func (d *DB) CreateCommand(ctx context.Context, c store.Command) error {
	args, err := fields(&c)
	if err != nil {
		return err
	}
	return d.write(ctx, func(tx *sql.Tx) error {
		seq, err := d.next(ctx, tx, "commands", 1)
		if err != nil {
			return err
		}
		err = exec(ctx, tx, store.ErrBusy, `INSERT INTO commands (id, session, conversation, command, description, dir, by_whom, forced,
			risk, reasons, state, approval, comment, exit_code, created, changed, seq)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) ON CONFLICT DO NOTHING`, append(args, seq)...)
		if err != store.ErrBusy {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM commands WHERE id = $1`, c.ID).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return store.ErrExists
		}
		return store.ErrBusy
	})
}

// Command returns a command.
func (d *DB) Command(ctx context.Context, id string) (store.Command, error) {
	c, err := readOne(ctx, d, scanCommand, commandColumns+` WHERE id = $1`, id)
	return c, or(err, store.ErrUnknown)
}

// Commands returns the commands that a filter selects.
func (d *DB) Commands(ctx context.Context, f store.CommandFilter) ([]store.Command, error) {
	var c conditions
	c.equal("session", f.SessionID)
	c.equal("conversation", f.ConversationID)
	oneOf(&c, "state", f.States)
	list, err := readAll(ctx, d, scanCommand, commandColumns+c.text+` ORDER BY seq DESC`+c.limit(f.Limit), c.args...)
	slices.Reverse(list)
	return list, err
}

// UpdateCommand replaces a command that is in the state from and has not ended.
func (d *DB) UpdateCommand(ctx context.Context, from store.CommandState, c store.Command) error {
	args, err := fields(&c)
	if err != nil {
		return err
	}
	return d.write(ctx, func(tx *sql.Tx) error {
		err := exec(ctx, tx, store.ErrChanged, `UPDATE commands SET session = $2, conversation = $3, command = $4, description = $5,
			dir = $6, by_whom = $7, forced = $8, risk = $9, reasons = $10, state = $11, approval = $12, comment = $13, exit_code = $14,
			created = $15, changed = $16
			WHERE id = $1 AND state = $17 AND state IN ('pending_approval', 'approved', 'executing')`, append(args, string(from))...)
		return d.gone(ctx, tx, err, "commands", c.ID)
	})
}

// Recover makes the commands unknown that a server left executing.
func (d *DB) Recover(ctx context.Context, server string, at time.Time) (list []store.Command, err error) {
	err = d.write(ctx, func(tx *sql.Tx) error {
		const lost = ` WHERE state = 'executing' AND (session IN (SELECT id FROM sessions WHERE server = $1)
			OR NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = commands.session))`
		if list, err = all(ctx, tx, scanCommand, commandColumns+lost+` ORDER BY seq`, server); err != nil {
			return err
		}
		for i := range list {
			list[i].State, list[i].Changed = store.CommandUnknown, at.UTC()
			if err := exec(ctx, tx, store.ErrChanged, `UPDATE commands SET state = 'unknown', changed = $2
				WHERE id = $1 AND state = 'executing'`, list[i].ID, nanos(at)); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}
