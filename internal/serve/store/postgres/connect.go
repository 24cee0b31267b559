package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// oldest is the oldest PostgreSQL that is accepted, as in server_version_num.
const oldest = 140000

// limits are settings of each connection that its URL does not set: in milliseconds,
// how long a statement may take, wait for a lock, and keep its locks while we say
// nothing.
var limits = map[string]string{
	"statement_timeout":                   "30000",
	"lock_timeout":                        "10000",
	"idle_in_transaction_session_timeout": "30000",
	"application_name":                    "agent-wrapper",
}

var errURL = errors.New("the store is no PostgreSQL URL such as postgres://user@host:5432/database")

// configuration parses a URL. No error shows it: it may hold a password, and a URL
// that cannot be parsed may hold one anywhere.
func configuration(url string) (*pgx.ConnConfig, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, errURL
	}
	config, err := pgx.ParseConfig(url)
	if file := (*fs.PathError)(nil); errors.As(err, &file) {
		return nil, fmt.Errorf("the URL of the store: %w", file)
	}
	if err != nil {
		return nil, errURL
	}
	for name, value := range limits {
		if config.RuntimeParams[name] == "" {
			config.RuntimeParams[name] = value
		}
	}
	if config.ValidateConnect == nil {
		// Of several hosts the one that writes, and none that has become a standby.
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	return config, nil
}

// connector connects without saying in an error what it connects with.
type connector struct{ driver.Connector }

func newConnector(config *pgx.ConnConfig) driver.Connector {
	return connector{stdlib.GetConnector(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		err := prepare(ctx, conn)
		if err != nil {
			conn.Close(ctx)
		}
		return err
	}))}
}

// Connect connects.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if failed := (*pgconn.ConnectError)(nil); errors.As(err, &failed) {
		err = &unreachable{failed.Error(), failed.Unwrap()} // without its Config
	}
	return conn, err
}

// unreachable is the error of a connection that could not be made.
type unreachable struct {
	text  string
	cause error
}

func (u *unreachable) Error() string { return u.text }

func (u *unreachable) Unwrap() error { return u.cause }

// prepare checks the server of a new connection, and has it write what it commits.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	var version int
	var encoding, commits string
	err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'),
		current_setting('synchronous_commit')`).Scan(&version, &encoding, &commits)
	if err != nil {
		return err
	}
	if err := usable(version, encoding); err != nil {
		return err
	}
	if commits == "off" { // other values may be stricter than on
		_, err = conn.Exec(ctx, "SET synchronous_commit = on")
	}
	return err
}

// unusable is the error for a server that does not suit.
type unusable string

func (u unusable) Error() string { return string(u) }

// usable reports whether a server suits: its version and the encoding of its text.
func usable(version int, encoding string) error {
	switch {
	case version < oldest:
		return unusable(fmt.Sprintf("PostgreSQL %d is too old: %d is the oldest that holds a store", version/10000, oldest/10000))
	case encoding != "UTF8":
		return unusable(fmt.Sprintf("the database's encoding is %s, and a store needs UTF8: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0", encoding))
	}
	return nil
}
