package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// patience is how long a call goes on while PostgreSQL cannot be reached, as when it
// is restarted.
const patience = 15 * time.Second

// conflicts is how often a transaction is tried that others undo.
const conflicts = 50

// again reports whether a call is to be repeated after its nth error, the first at
// n = 1, and waits before. began is when the first attempt did.
func again(ctx context.Context, began time.Time, n int, err error) bool {
	var pause time.Duration
	switch {
	case ctx.Err() != nil:
		return false
	case conflict(err) && n < conflicts:
		pause = rand.N(min(time.Duration(n)*2*time.Millisecond, 50*time.Millisecond))
	case lost(err) && time.Since(began) < patience:
		pause = rand.N(min(time.Duration(n)*20*time.Millisecond, 500*time.Millisecond))
	default:
		return false
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// conflict reports whether PostgreSQL undid a transaction because of another one.
func conflict(err error) bool {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code {
	case "40001", "40P01": // serialization failure, deadlock
		return true
	}
	return false
}

// lost reports whether there was no connection, or there is none any more.
func lost(err error) bool {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return strings.HasPrefix(refused.Code, "08") || strings.HasPrefix(refused.Code, "57P") || refused.Code == "53300"
	}
	var network net.Error
	var closed *unreachable
	switch {
	case errors.As(err, new(unusable)):
		return false
	case errors.As(err, &network), errors.As(err, &closed):
		return true
	}
	for _, end := range []error{driver.ErrBadConn, pgconn.ErrConnClosed, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
