package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// silence is how long the connection that listens may hear nothing before it is
// tried. Waiting for a notification only reads, and would not notice a lost peer.
const silence = 15 * time.Second

// hearer is told of the payload of each notification; "" says that some may have been
// missed.
type hearer func(payload string)

// listen tells of notifications until ctx ends, on a connection of its own: LISTEN
// belongs to a connection, and one of a pool may be closed or handed on. What was
// notified while there was none is lost.
func listen(ctx context.Context, config *pgx.ConnConfig, channel string, tell hearer) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if listened(ctx, config, channel, tell) {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// The pauses between two attempts to connect.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
)

// listened listens until the connection is lost, and reports whether there was one.
func listened(ctx context.Context, config *pgx.ConnConfig, channel string, tell hearer) bool {
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return false
	}
	defer hangUp(ctx, conn)
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return false
	}
	tell("")
	for {
		payload, err := awaited(ctx, conn, silence)
		if err != nil {
			return true
		}
		tell(payload)
	}
}

// hangUp closes a connection, whose peer may no longer be there.
func hangUp(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	conn.Close(ctx)
}

// awaited returns the payload of the next notification, or "" after a silence that
// the connection has outlived.
func awaited(ctx context.Context, conn *pgx.Conn, silence time.Duration) (payload string, err error) {
	quiet, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	n, err := conn.WaitForNotification(quiet)
	if err == nil {
		return n.Payload, nil
	}
	if quiet.Err() == nil || ctx.Err() != nil {
		return "", err
	}
	alive, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	return "", conn.Ping(alive)
}
