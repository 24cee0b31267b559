// Package postgres opens a store.Store in a PostgreSQL database, which several servers
// share: an approval that is asked for at one is answered at another.
//
// The tables are the truth. NOTIFY only wakes those who wait, and whoever misses it
// looks by himself within a second. What was acknowledged is committed, also if the
// server has synchronous_commit = off. If the connection is lost while a transaction
// commits, its fate is looked up, and it is repeated only if it had no effect.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/internal/sqldb"
)

// Store is an open store.
type Store struct{ *sqldb.DB }

// options differ in tests.
type options struct {
	notify, listen string // channels
	poll           time.Duration
	now            func() time.Time // nil: time.Now
}

const (
	channel = "agent_wrapper"
	// poll is how often somebody who waits looks for himself. It only counts if
	// notifications get lost.
	poll = 500 * time.Millisecond
)

// Open opens the store in the database of a URL, postgres://user@host:5432/database,
// and creates its tables if there are none. What the URL does not say, the usual
// variables (PGPASSWORD, PGPASSFILE, PGSSLMODE, …) do. No error shows the password.
func Open(ctx context.Context, url string) (*Store, error) {
	return open(ctx, url, options{notify: channel, listen: channel, poll: poll})
}

func open(ctx context.Context, url string, o options) (*Store, error) {
	config, err := configuration(url)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	db := sql.OpenDB(newConnector(config))
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(4)
	db.SetConnMaxIdleTime(5 * time.Minute)
	if err := db.PingContext(ctx); err != nil { // what is wrong with the URL is said at once
		return nil, errors.Join(fmt.Errorf("open the store in PostgreSQL: %w", err), db.Close())
	}
	d := dialect(o)
	d.Listen = func(ctx context.Context, heard func(int64)) {
		listen(ctx, config, o.listen, func(payload string) { heard(number(payload)) })
	}
	shared, err := sqldb.Open(ctx, db, d)
	if err != nil {
		return nil, fmt.Errorf("open the store in PostgreSQL: %w", err)
	}
	return &Store{shared}, nil
}

// number returns the number in a notification. There may have been any change if
// there is none.
func number(payload string) int64 {
	seq, err := strconv.ParseInt(payload, 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return seq
}

// dialect returns what differs in PostgreSQL. Transactions have its default
// isolation, so that each statement sees what was committed before it; a row that is
// then changed is locked. Since the row of a counter stays locked until the end, a
// number is never visible before a smaller one.
func dialect(o options) sqldb.Dialect {
	var claims atomic.Int64
	return sqldb.Dialect{
		Bytes: "BYTEA",
		Lock:  " FOR UPDATE",
		Poll:  o.poll,
		Now:   o.now,
		Again: again,
		Notify: func(ctx context.Context, tx *sql.Tx, seq int64) error {
			_, err := tx.ExecContext(ctx, `SELECT pg_notify($1, $2)`, o.notify, strconv.FormatInt(seq, 10))
			return err
		},
		Claim: func(ctx context.Context, tx *sql.Tx, name string) (bool, error) {
			if claims.Add(1)%tidying == 0 {
				if err := tidy(ctx, tx); err != nil {
					return false, err
				}
			}
			return claim(ctx, tx, name)
		},
		Alone: alone,
	}
}

// claim notes that a write takes place, and reports whether it has not yet. If it is
// not decided whether one with this name was committed, it waits.
func claim(ctx context.Context, tx *sql.Tx, name string) (first bool, err error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO writes (name, at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, time.Now().UnixNano())
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// tidying is how many writes there are between two removals of old names.
const tidying = 1000

// tidy removes the names of writes that nobody tries again: that ends after patience.
func tidy(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM writes WHERE at < $1`, time.Now().Add(-time.Hour).UnixNano())
	return err
}

// schemaLock is the number of the lock of those who change the schema.
const schemaLock = 0x61677772 // "agwr"

// alone keeps others from changing the schema, which takes as long as it takes.
func alone(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(%d)`, schemaLock))
	return err
}
